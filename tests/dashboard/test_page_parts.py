"""Tasks, bundles, queues and events on the page, by keys."""

from __future__ import annotations

from tests.dashboard import documents
from tests.dashboard.pages import in_hash, main, wait


def test_a_target_its_tasks_and_a_bundle_are_found_by_keys(api, dashboard, opens):
    documents.put(api)
    page = opens(dashboard, "#/tasks")
    wait(page, "mail/eu")
    assert all(each in main(page) for each in ("120 or more", "2, ends in", "2.5/s", "no limit"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    in_hash(page, "^#/tasks/mail%2Feu$")
    wait(page, "HTTP 400: no such order")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    in_hash(page, f"^#/bundles/{documents.BUNDLE}$")
    wait(page, "order-2")
    page.keyboard.press("Escape")
    in_hash(page, "^#/tasks$")


def test_a_queue_its_jobs_and_its_sessions_are_found_by_keys(api, dashboard, opens):
    documents.put(api)
    page = opens(dashboard, "#/queues")
    wait(page, "≈ 1,042")
    assert "paused" in main(page)
    assert page.get_attribute("tbody time", "datetime") == documents.AT  # counted by the last sweep
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait(page, "worker-1")
    page.focus("#job-state")
    page.keyboard.press("End")
    in_hash(page, "state=dead")
    page.wait_for_function("() => document.querySelector('main').innerText.includes('OSError')")


def test_the_last_events_of_a_local_run_are_shown_newest_first(api, starts, opens):
    page = opens(starts(events=lambda: documents.EVENTS), "#/events")
    wait(page, "TaskFailed")
    text = main(page)

    assert text.index("TaskFailed") < text.index("BatchCompleted")
    assert page.locator("a", has_text="catalog-8").count() == 1
    assert all(
        each in text for each in ("HTTP 400: no such order", "3 of 10 failed", "order-2:b-0f8d2a31:DEAD")
    )


def test_without_a_local_run_the_page_says_where_events_are(api, dashboard, opens):
    page = opens(dashboard, "#/events")

    wait(page, "its event bus")
