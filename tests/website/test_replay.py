"""What the site shows at work: the replay of the dashboard, in one file, and a seed of the simulator."""

from __future__ import annotations

import json
import re

import pytest

from tests.website.conftest import opened

REPLAY = "replay.html"


@pytest.fixture(scope="module")
def answers(site):
    text = (site / REPLAY).read_text()
    return json.loads(re.search(r"<script type=application/json id=recorded>(.*)</script>", text)[1])[
        "answers"
    ]


def at_last(answers):
    """The list of batches in the last frame, by their user keys."""
    found = answers["/v1/batches"][-1][1]["batches"]
    return {batch["userKey"]: answers[f"/v1/batches/{batch['batchId']}"] for batch in found}


def test_what_is_recorded_moves_and_ends(answers):
    batches = at_last(answers)
    index, catalog, night = (batches[name] for name in ("index-2026-11", "catalog-8", "albums-night"))

    assert index[-1][1]["total"] == 10**9
    assert len(index) > 10
    assert (catalog[-1][1]["result"], catalog[-1][1]["failed"]) == ("completed_with_failures", 31)
    assert (night[-1][1]["state"], night[-1][1]["failed"]) == ("CLOSED", 1)
    assert catalog[0][1]["state"] == "CLOSED"


def test_the_page_shows_each_batch_from_the_file_alone(browser, site):
    errors = []
    with opened(browser, (site / REPLAY).as_uri()) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install()
        page.reload()
        page.click("text=albums-night")
        page.wait_for_selector("text=Stalled: album-05")
        page.go_back()
        page.clock.run_for(60_000)
        page.click("text=catalog-8")
        page.wait_for_selector("canvas")
        page.wait_for_selector("text=31 failed")
        page.locator("table[aria-label=Reasons]").get_by_text("timeout after 30 s").wait_for()
        page.go_back()
        page.click("text=index-2026-11")
        page.click("canvas")
        page.wait_for_selector("text=the replay has batches and their whole maps alone")
    assert errors == []


def test_the_pages_lead_to_the_replay(site):
    for name in ("index.html", "dashboard.html"):
        assert f'href="{REPLAY}"' in (site / name).read_text()


def test_a_seed_is_shown_with_its_faults_and_its_end(site):
    text = (site / "seed.html").read_text()

    for part in ("<b>crash after</b>", "<b>late copy</b>", "BatchCompleted", "<strong>No violation</strong>"):
        assert part in text
    assert 'href="seed.html"' in (site / "proof.html").read_text()
