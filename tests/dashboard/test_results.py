"""The result of an item beside the map of its batch."""

from __future__ import annotations

import pytest

from functions import get_results
from functions.wiring import tracking
from tests.dashboard.pages import in_hash, main, opened, wait


@pytest.fixture
def batch(fanin, environment):
    """An ended batch of three items: a result, none, and a failed item."""
    environment.setattr(tracking, "results", fanin.tracker.result_store)
    environment.setattr(get_results, "_has_time", lambda: True)
    batch = opened(fanin, "results", items=0, close=False, results=True)
    items = list(batch.add(3))
    event = {"Records": [{"messageId": str(n), "body": item} for n, item in enumerate(items)]}
    size = {"size": "<b>3</b>"}
    fanin.fail([items.pop()])
    found = dict(zip(items, (size, None), strict=True))
    del event["Records"][2]
    fanin.acks(results=True)(lambda record: found[record["body"]])(event, None)
    batch.close()
    return batch


def test_a_chosen_item_shows_its_result_and_escape_hides_it(dashboard, opens, batch):
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, f"fanin results {batch.id}")
    page.keyboard.press("m")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    in_hash(page, "item=0$")
    wait(page, '"size": "<b>3</b>"')
    assert "Result of item 0" in main(page)

    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait(page, "No result of item 1")
    page.keyboard.press("Escape")
    in_hash(page, f"^#/batches/{batch.id}$")


def test_a_batch_that_keeps_none_or_is_live_has_no_results(fanin, api, dashboard, opens):
    page = opens(dashboard)
    for name, acked in (("none", 1), ("live", 0)):
        batch = opened(fanin, name, items=1, acked=acked, results=not acked)
        page.evaluate(f"location.hash = '#/batches/{batch.id}?item=0'")
        wait(page, batch.id)
        assert "fanin results" not in main(page)
    assert api.asked(".*/results") == 0


def test_a_batch_of_results_that_are_not_gathered_yet_is_asked_again(api, dashboard, opens, batch):
    manifest = {"manifest": "m", "parts": 1, "bytes": 3}
    item = {"itemId": next(iter(batch.results()))[0], "result": [1]}
    later = iter([{"ready": False, "manifest": manifest}])
    ready = {"ready": True, "manifest": manifest, "item": item}
    api.instead[".*/results"] = (200, lambda query: next(later, ready))
    page = opens(dashboard, f"#/batches/{batch.id}?item=0")
    wait(page, "Result of item 0")

    assert api.asked(".*/results") == 2
