"""How many pages and groups a list of ranges reads, in what requests, and where it stops."""

from __future__ import annotations

import pytest

from fanin.tracker import Ack, Group, ItemRange, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.walking import Walk
from tests.scripted import Scripted
from tests.tracker.calls import ack, opened


def noting(page_bits=1024):
    """A tracker whose store notes its requests."""
    return Tracker(Scripted(MemoryStore()), page_bits=page_bits, pause=lambda _: None)


def reads(tracker):
    """The number of pages of each request."""
    return [len(keys) for (keys,) in tracker.store.of("pages")]


@pytest.mark.parametrize(("leaves", "resume"), [(99, None), (100, 99 * 1024)])
def test_one_request_reads_a_hundred_pages_leaves_fifty_at_a_time(leaves, resume):
    tracker = noting()
    batch_id, group = opened(tracker, leaves * 1024)
    batch = tracker.get("t", batch_id)
    found = tracker.outstanding(batch)

    assert (found.ranges, found.resume) == ((ItemRange(group, 0, 99 * 1024 - 1),), resume)
    assert reads(tracker) == [1, 50, 49]


def test_no_leaf_is_read_after_enough_ranges():
    tracker = noting()
    batch_id, group = opened(tracker, 99 * 1024)
    ack(tracker, batch_id, group, 1)
    tracker.store.made.clear()
    found = tracker.outstanding(tracker.get("t", batch_id), limit=1)

    assert (found.ranges, found.resume) == ((ItemRange(group, 0, 0),), 2)
    assert reads(tracker) == [1, 50]


def with_outstanding_leaves(*counts):
    """A tracker and a batch with pages of 16: so many leaves of each page above are outstanding."""
    tracker = noting(16)
    batch_id, group = opened(tracker, 256 * len(counts))
    ends = [(256 * number + 16 * count, 256 * number + 255) for number, count in enumerate(counts)]
    tracker.ack("t", [Ack(batch_id, group, first, last, "me") for first, last in ends])
    batch = tracker.get("t", batch_id)
    tracker.store.made.clear()
    return tracker, batch, group


@pytest.mark.parametrize(
    ("counts", "sizes"),
    [
        ((9, 9, 9, 9, 9, 9, 9, 9, 8, 8, 1), [1, 10, 1, 50, 38]),
        ((9, 9, 9, 9, 9, 9, 9, 9, 9, 8, 1), [1, 10, 1, 50, 38]),
        ((9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1), [1, 10, 50, 39]),
    ],
)
def test_parents_are_read_ten_at_a_time_while_their_leaves_can_be_read(counts, sizes):
    tracker, batch, _ = with_outstanding_leaves(*counts)
    tracker.outstanding(batch)

    assert reads(tracker) == sizes


def test_few_leaves_under_many_parents_are_found_by_one_request():
    tracker, batch, group = with_outstanding_leaves(*[1] * 11)
    found = tracker.outstanding(batch)

    assert found.ranges == tuple(ItemRange(group, at, at + 15) for at in range(0, 11 * 256, 256))
    assert found.resume is None


def test_a_walk_reads_a_page_of_each_level_however_few_it_may_read():
    tracker = noting(4)
    batch = tracker.get("t", opened(tracker, 16)[0])
    walk = Walk(tracker.store, batch, 0, failures=False, budget=1)

    assert list(walk.stretches()) == [(0, 3)]
    assert walk.stopped_at == 4
    assert reads(tracker) == [1, 1]


@pytest.mark.parametrize(("count", "resume"), [(4000, None), (4001, 4000)])
def test_one_request_finds_four_thousand_groups(count, resume):
    tracker = noting()
    batch = tracker.get("t", opened(tracker, count)[0])
    tracker.store.scripts["groups"] = lambda _, start, last, limit: [
        (at, Group(f"group-{at}", 1)) for at in range(start, last + 1)[:limit]
    ]
    found = tracker.outstanding(batch, limit=5000)

    assert found.ranges == tuple(ItemRange(f"group-{at}", 0, 0) for at in range(4000))
    assert found.resume == resume


def test_a_range_that_begins_with_a_group_has_no_item_of_the_group_before_it(tracker):
    batch_id, first = opened(tracker, 4)
    second = tracker.add("t", batch_id, 4).groups[0].id
    ack(tracker, batch_id, first, 1, 2, 3)
    found = tracker.outstanding(tracker.get("t", batch_id))

    assert found.ranges == (ItemRange(first, 0, 0), ItemRange(second, 0, 3))
