"""What is outstanding, from few rows and a part at a time."""

from __future__ import annotations

from itertools import pairwise

from fanin.tracker import (
    Ack,
    ItemRange,
    Slice,
    Tracker,
)
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import ack, opened


def test_three_missing_of_ten_million_are_one_page_from_few_rows():
    class Counting(MemoryStore):
        read = 0

        def pages(self, keys):
            self.read += len(keys)
            return super().pages(keys)

    tracker = Tracker(Counting(), pause=lambda _: None)
    batch_id, group = opened(tracker, 10_000_000)
    missing = (0, 5_123_456, 9_999_999)
    for low, high in ((1, 999_999), *((at, at + 999_999) for at in range(1_000_000, 10_000_000, 1_000_000))):
        parts = [low, *(m for m in missing if low <= m <= high), high + 1]
        spans = [(a if a == low else a + 1, b - 1) for a, b in pairwise(parts)]
        tracker.ack("t", [Ack(batch_id, group, a, b, "me") for a, b in spans if a <= b])
    tracker.store.read = 0
    found = tracker.outstanding(tracker.get("t", batch_id))

    assert found == Slice(tuple(ItemRange(group, at, at) for at in missing), None)
    assert tracker.store.read <= 100


def test_a_long_list_goes_on_where_it_stopped(tracker):
    batch_id, group = opened(tracker, 4000)
    ack(tracker, batch_id, group, *range(0, 4000, 3))
    batch, found, start = tracker.get("t", batch_id), [], 0
    while start is not None:
        part = tracker.outstanding(batch, start, limit=7)
        assert len(part.ranges) <= 7
        found += [index for r in part.ranges for index in range(r.first, r.last + 1)]
        start = part.resume

    assert found == [index for index in range(4000) if index % 3]
