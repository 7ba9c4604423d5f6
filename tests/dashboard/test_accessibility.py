"""The page for all: axe finds nothing serious, colours have contrast in both schemes, 360 px are enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanin import dashboard as package
from tests.dashboard import documents
from tests.dashboard.pages import opened, wait, windowed
from tests.npm import packages

STYLE = (Path(package.__file__).parent / "page" / "style.css").read_text()
VIEWS = {
    "#/batches": "catalog",
    "#/batches/{id}": "HTTP 500",
    "#/tasks": "mail/eu",
    "#/tasks/mail%2Feu": "order-1",
    f"#/bundles/{documents.BUNDLE}": "order-1",
    "#/queues": "thumbs",
    "#/queues/thumbs": "worker-1",
    "#/events": "BatchCompleted",
    "#/batches/00000000-0000-0000-0000-000000000000": "expired or was deleted",
}
SOME = ["#/batches", "#/batches/{id}", "#/queues/thumbs"]
"""The list, the map with its failures, and the view with most tables."""
NARROW = {"width": 360, "height": 640}


def palettes() -> dict[str, dict[str, str]]:
    """The colours of the style sheet: light, and dark where it differs."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    named = [dict(re.findall(r"--(\w+): (#\w{6})", text)) for text in (light, dark)]
    return {"light": named[0], "dark": named[0] | named[1]}


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_sign_has_contrast_with_what_is_beside_it(scheme):
    colours = palettes()[scheme]
    pairs = [("edge", "paper"), ("edge", "tint"), ("done", "paper"), ("done", "none"), ("bad", "paper")]
    for sign, ground in [*pairs, ("focus", "paper"), ("focus", "tint")]:
        assert contrast(colours[sign], colours[ground]) >= 3, (sign, ground)


def visits(page, dashboard, batch, views):
    """Each of the *views* of the page, once it shows its data."""
    for hash_ in views:
        page.goto(f"http://127.0.0.1:{dashboard.door.port}/{hash_.format(id=batch.id)}")
        wait(page, VIEWS[hash_])
        yield hash_


def site(fanin, api, starts):
    documents.put(api)
    api.instead[".*/map"] = windowed(5000, failed={3})
    batch = opened(fanin, "catalog", items=5000, failed=1, labels={"team": "search"})
    return batch, starts(events=lambda: documents.EVENTS, allow_writes=True)


@pytest.mark.parametrize(
    "views", [SOME, pytest.param([*VIEWS], marks=pytest.mark.proof)], ids=["some views", "all views"]
)
def test_axe_finds_nothing_serious_and_360_pixels_are_enough(fanin, api, starts, opens, views):
    axe = (packages() / "axe-core" / "axe.min.js").read_text()
    batch, dashboard = site(fanin, api, starts)
    page = opens(dashboard, color_scheme="light", viewport=NARROW)
    found, wide = [], []
    for hash_ in visits(page, dashboard, batch, views):
        page.evaluate(axe)
        found += [(hash_, *each) for each in violations(page)]
        if page.evaluate("document.scrollingElement.scrollWidth") > NARROW["width"]:
            wide.append(hash_)
    page.keyboard.press("?")
    found += [("?", *each) for each in violations(page)]
    page.context.clear_cookies()
    page.goto(page.url.partition("#")[0] + "?")
    page.evaluate(axe)
    found += [("not signed in", *each) for each in violations(page)]
    assert "not signed in" in page.inner_text("h1")

    assert (found, wide) == ([], [])


def violations(page):
    """What axe finds, of any impact but minor: the rule and the first element.

    All its rules in the light scheme, and in the dark one that of colours, which alone depends on it.
    """
    found = axe_run(page, {})
    page.emulate_media(color_scheme="dark")
    found += axe_run(page, {"runOnly": ["color-contrast"]})
    page.emulate_media(color_scheme="light")
    return found


def axe_run(page, options):
    return page.evaluate(
        """async (options) => (await axe.run(options)).violations.filter((each) => each.impact !== "minor")
          .map((each) => [each.id, each.impact, each.nodes[0].html])""",
        options,
    )


def test_every_control_is_reached_by_tab(fanin, api, starts, opens):
    batch, dashboard = site(fanin, api, starts)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "HTTP 500")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.localName"))

    assert {"a", "button", "canvas", "summary"} <= seen
