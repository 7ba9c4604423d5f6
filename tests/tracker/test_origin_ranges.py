"""The ranges of unfinished items that a new batch stands for: joined, and read a part at a time."""

from __future__ import annotations

import pytest

from fanin.tracker import ItemRange, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.writing.reopening import ReopenBatch, ReopenItems
from tests.scripted import Scripted
from tests.tracker.calls import ack, fail, opened


@pytest.fixture
def tracker(clock):
    return Tracker(Scripted(MemoryStore()), page_bits=4, now=clock, pause=lambda _: None)


def reopened(tracker, acked=(), failed=()):
    """A batch of what is unfinished in three groups of four items, and the ids of the groups."""
    batch_id, first = opened(tracker, 4)
    groups = [first, *(tracker.add("t", batch_id, 4).groups[0].id for _ in range(2))]
    for at in acked:
        ack(tracker, batch_id, groups[at // 4], at % 4)
    for at in failed:
        fail(tracker, batch_id, groups[at // 4], at % 4)
    tracker.cancel("t", batch_id)
    request = ReopenBatch(origin_batch_id=batch_id, items=ReopenItems.UNFINISHED)
    return tracker.reopen("t", request, "me", "again"), groups


def test_failed_items_beside_outstanding_ones_are_one_range(tracker):
    batch, (first, second, third) = reopened(tracker, acked=(4, 9, 10, 11), failed=(2, 3, 5, 6))

    assert tracker.origin(batch).ranges == (
        ItemRange(first, 0, 3),
        ItemRange(second, 1, 3),
        ItemRange(third, 0, 0),
    )
    assert tracker.store.origin_ranges(batch.key) == ((0, 3), (5, 8))
