"""The lists of waiting tasks and of targets, on every store."""

from __future__ import annotations

from datetime import timedelta

from fanin.grouper import Lane, Lease
from tests.contract.grouper.calls import LANE, NOW, OTHER, task


def pages(read, limit):
    """All rows of a list, page by page."""
    cursor, found = None, []
    while True:
        page = read(limit, cursor)
        found.append(list(page.rows))
        cursor = page.cursor
        if cursor is None:
            return found


def test_waiting_tasks_come_page_by_page_in_their_order(store):
    for number, priority in enumerate((0, 7, 0, 7, 0)):
        at = NOW + timedelta(seconds=number)
        store.create(task(f"t{number}", priority=priority, due_at=at))
    store.create(task("other", OTHER))
    found = pages(lambda limit, after: store.waiting(LANE, limit, after), 2)

    assert [[each.task_id for each in page] for page in found] == [["t1", "t3"], ["t0", "t2"], ["t4"]]
    assert [each.task_id for each in store.waiting(LANE, 5, None).rows] == ["t1", "t3", "t0", "t2", "t4"]
    assert store.waiting(LANE, 5, None).cursor is None


def test_tasks_of_the_same_moment_are_each_listed_once(store):
    for name in "abc":
        store.create(task(name))
    found = pages(lambda limit, after: store.waiting(LANE, limit, after), 1)

    assert [[each.task_id for each in page] for page in found] == [["a"], ["b"], ["c"]]


def lead(store, tenant, target, shard):
    lane = Lane(tenant, target, shard)
    store.put_lease(None, Lease(lane, 1, "me", NOW))


def test_a_tenants_targets_are_listed_once_each_by_name_without_parts(store):
    for target in ("b", "a/eu", "c"):
        for shard in ("0", "1", "part-x-0"):
            lead(store, "t", target, shard)
    lead(store, "t", "only-parts", "part-y-0")
    lead(store, "u", "d", "0")

    assert pages(lambda limit, after: store.targets_of("t", limit, after), 2) == [["a/eu", "b"], ["c"]]
    assert pages(lambda limit, after: store.targets_of("u", limit, after), 1) == [["d"]]
    assert pages(lambda limit, after: store.targets_of("v", limit, after), 1) == [[]]


def test_more_lanes_than_one_request_reads_are_one_target(store):
    for shard in range(64):
        lead(store, "t", "a", str(shard))
        lead(store, "t", "b", str(shard))
        lead(store, "t", "c", str(shard))

    assert pages(lambda limit, after: store.targets_of("t", limit, after), 10) == [["a", "b", "c"]]
    assert pages(lambda limit, after: store.targets_of("t", limit, after), 2) == [["a", "b"], ["c"]]


def test_a_lease_that_is_renewed_and_released_stays_listed(store):
    lane = Lane("t", "a", "0")
    first = Lease(lane, 1, "me", NOW)
    store.put_lease(None, first)
    store.put_lease(first, first.next(NOW))
    store.put_lease(first.next(NOW), first.next(NOW).released())

    assert list(store.targets_of("t", 5, None).rows) == ["a"]
    assert store.lease(lane).fence == 2
