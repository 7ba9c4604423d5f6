"""The page polls: what it asks for, when, and what survives."""

from __future__ import annotations

import pytest

from tests.dashboard.pages import (
    MISSING,
    asked_more,
    at_rest,
    clocked,
    focused,
    main,
    opened,
    polled,
    status,
    status_is,
    wait,
    windowed,
)


def test_focus_typing_scroll_and_details_survive_polls(fanin, api, dashboard, opens):
    for number in range(40):
        opened(fanin, f"batch-{number:02}")
    page = clocked(opens, dashboard)
    wait(page, "batch-00")
    page.click("summary")
    page.fill("#key", "half-typ")
    page.evaluate("scrollTo(0, 300)")
    opened(fanin, "new")
    polled(page, api, "/v1/batches", 2)
    wait(page, "new")
    assert (page.input_value("#key"), focused(page)) == ("half-typ", "key")
    # The browser may keep the rows in view where they are, below the new one.
    row = page.evaluate("document.querySelector('tbody tr').offsetHeight")
    assert 300 <= page.evaluate("scrollY") <= 300 + row + 1
    assert page.evaluate("document.querySelector('details').open")
    row = page.locator("tbody a", has_text="batch-07")
    row.focus()
    opened(fanin, "newer")
    polled(page, api, "/v1/batches")
    wait(page, "newer")
    assert page.evaluate("document.activeElement.textContent") == "batch-07"


@pytest.mark.proof
def test_a_zoom_and_its_cell_survive_polls(fanin, api, dashboard, opens):
    batch = opened(fanin, "catalog", items=5000)
    api.instead[".*/map"] = windowed(5000)
    page = clocked(opens, dashboard, f"#/batches/{batch.id}?from=0&to=1000")
    page.wait_for_selector("canvas")
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    polled(page, api, ".*/map", 2)
    assert "item 1: 100 % done" in main(page)
    assert page.evaluate("document.activeElement.localName") == "canvas"


def test_a_paused_or_hidden_page_asks_for_nothing(fanin, api, dashboard, opens):
    opened(fanin, "catalog")
    page = clocked(opens, dashboard)
    wait(page, "catalog")
    page.keyboard.press("p")
    status_is(page, "paused")
    asks_for_nothing(page, api)
    before = len(api.log)
    page.keyboard.press("r")
    asked_more(page, api, before)
    asks_for_nothing(page, api)
    before = len(api.log)
    page.keyboard.press("p")
    asked_more(page, api, before)
    at_rest(page, api)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asks_for_nothing(page, api)
    before = len(api.log)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asked_more(page, api, before)


def asks_for_nothing(page, api):
    before = at_rest(page, api)
    page.clock.run_for(120_000)
    assert at_rest(page, api) == before


@pytest.mark.proof
def test_an_ended_batch_is_read_until_its_event_is_confirmed(api, dashboard, opens):
    event = {"eventId": "e", "type": "BatchCompleted", "confirmed": False}
    ended = status(state="COMPLETE", isComplete=True, result="succeeded", acked=10, event=event)
    api.instead[f"/v1/batches/{MISSING}"] = (200, ended)
    api.instead[".*/map"] = windowed(10)
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "BatchCompleted")
    polled(page, api, f"/v1/batches/{MISSING}")
    assert "not confirmed yet" in main(page)
    event["confirmed"] = True
    polled(page, api, f"/v1/batches/{MISSING}")
    wait(page, "confirmed, it is on the bus")
    asks_for_nothing(page, api)
