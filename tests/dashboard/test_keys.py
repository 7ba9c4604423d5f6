"""The page is used by keys alone."""

from __future__ import annotations

from tests.dashboard import documents
from tests.dashboard.pages import BILLION, focused, in_hash, main, opened, wait, windowed


def test_a_batch_is_found_and_looked_into_by_keys(fanin, api, dashboard, opens):
    opened(fanin, "first")
    fanin.clock.advance(seconds=1)
    batch = opened(fanin, "second", items=5000, acked=3, failed=1)
    page = opens(dashboard)
    wait(page, "second")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "first" or focused(page).startswith("row-")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    in_hash(page, f"^#/batches/{batch.id}$")
    wait(page, "HTTP 500 of second")
    page.keyboard.press("m")
    for key in ("ArrowRight", "ArrowDown", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    wait(page, "items 16 to 23: 0.0 % done")
    page.keyboard.press("Home")
    wait(page, "items 0 to 7: 50.0 % done, some failed")
    page.keyboard.press("Enter")
    in_hash(page, "from=0&to=8$")
    wait(page, "A cell is one item")
    page.keyboard.press("End")
    wait(page, "item 7: 0.0 % done")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    wait(page, "item 3: 100 % done, some failed")
    assert page.evaluate("document.activeElement.localName") == "canvas"
    page.keyboard.press("Escape")
    in_hash(page, f"^#/batches/{batch.id}$")
    page.keyboard.press("Escape")
    in_hash(page, "^#/batches$")


def test_each_view_has_a_key_and_help_lists_them(fanin, api, dashboard, opens):
    documents.put(api)
    page = opens(dashboard)
    wait(page, "Batches")
    for key, path in {"t": "tasks", "q": "queues", "e": "events", "b": "batches"}.items():
        page.keyboard.press(key)
        in_hash(page, f"^#/{path}$")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "pause and resume" in page.inner_text("dialog")
    page.keyboard.press("t")  # not while the dialog is open
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="hidden")
    assert page.evaluate("location.hash") == "#/batches"


def test_zooms_of_a_billion_items_end_at_the_items_and_come_back_one_by_one(fanin, api, dashboard, opens):
    batch = opened(fanin, "huge", items=BILLION)
    api.instead[".*/map"] = windowed(BILLION, acked=lambda cell, size: size // 3)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "1,000,000,000")
    hashes = []
    for cells in ("976,563", "954", "one item"):
        page.wait_for_selector("canvas")
        wait(page, f"A cell is {cells}")
        hashes.append(page.evaluate("location.hash"))
        page.keyboard.press("m")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
    assert "item 999,999,999" in main(page)
    for hash_ in (*reversed(hashes[:-1]), "#/batches"):
        page.keyboard.press("Escape")
        page.wait_for_function("hash => location.hash === hash", arg=hash_)


def test_filters_are_typed_and_can_be_shared(fanin, api, dashboard, opens):
    for number in range(3):
        opened(fanin, f"catalog-{number}", labels={"team": "search"})
    opened(fanin, "mailing")
    page = opens(dashboard)
    wait(page, "mailing")
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("cat")
    page.keyboard.press("Enter")
    in_hash(page, "userKeyPrefix=cat")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 3")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.type("is")
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("catalog-1")
    page.keyboard.press("Enter")
    in_hash(page, "userKey=catalog-1")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    page.goto(f"http://127.0.0.1:{dashboard.door.port}/#/batches?label=team%3Asearch&state=CLOSED")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 3")
    assert page.input_value("#state") == "CLOSED"
    assert page.input_value("#label") == "team:search"


def test_times_of_opening_are_typed_in_the_browsers_zone_and_shared_in_utc(fanin, api, dashboard, opens):
    fanin.clock.advance(hours=1)
    opened(fanin, "catalog")
    page = opens(dashboard)
    wait(page, "catalog")
    page.click("summary")
    page.fill("#from", "2026-01-01T00:00")
    page.fill("#to", "2026-01-02T13:30")
    page.keyboard.press("Enter")
    in_hash(page, "openedFrom=2025-12-31T23%3A00%3A00Z&openedTo=2026-01-02T12%3A30%3A00Z")
    wait(page, "No batch fits")
    assert page.input_value("#from") == "2026-01-01T00:00"


def test_older_and_newer_rows(fanin, api, dashboard, opens):
    for number in range(120):
        opened(fanin, f"batch-{number:03}", items=0, close=False)
        fanin.clock.advance(seconds=1)
    page = opens(dashboard)
    for key, first in (("n", "batch-069"), ("n", "batch-019"), ("N", "batch-069"), ("N", "batch-119")):
        page.wait_for_selector("a[rel]")
        page.keyboard.press(key)
        page.wait_for_function("key => document.querySelector('tbody a').textContent === key", arg=first)
    page.goto(page.url.partition("#")[0] + "#/batches?cursor=nonsense")
    wait(page, "cursor")
