"""Items that are added and acked after a batch was read: what is read of its pages then leaves them out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import Ack, Mode, OpenBatch, Outcome, Progress, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.progress import progress
from fanin.tracker.reads.walking import slice_of

TENANT = "tenant"


def grown(**options):
    """A tracker, and a batch as it was read with two of three items acked, before a fourth one failed."""
    tracker = Tracker(MemoryStore(), page_bits=4)
    batch = tracker.open(TENANT, OpenBatch(**options))
    first = tracker.add(TENANT, batch.batch_id, 3, "first").groups[0].id
    tracker.ack(TENANT, [Ack(batch.batch_id, first, 0, 1, "ack")])
    seen = tracker.get(TENANT, batch.batch_id)
    added = tracker.add(TENANT, batch.batch_id, 1, "added").groups[0].id
    tracker.ack(TENANT, [Ack(batch.batch_id, added, 0, 0, "ack", Outcome.FAILURE)])
    return tracker, seen


def test_their_acks_are_not_counted_as_those_of_the_items_before():
    tracker, seen = grown()

    assert progress(tracker.store, seen) == Progress(2, 0, 2, 2, exact=True)


def test_an_estimated_batch_counts_no_more_acks_than_it_had_items():
    """A repeated ack, with another key, counts again in it."""
    tracker, seen = grown(mode=Mode.ESTIMATED)
    (_, first), *_ = tracker.store.groups(seen.key, 0, 0, 1)
    tracker.ack(TENANT, [Ack(seen.batch_id, first.id, 0, 1, "again")])
    assert tracker.progress(tracker.get(TENANT, seen.batch_id)).acked == 4

    assert progress(tracker.store, seen) == Progress(3, 0, 3, 3, exact=False)


@pytest.mark.parametrize(("failures", "found"), [(True, []), (False, [(2, 2)])])
def test_no_range_has_them(failures, found):
    """Also where the batch had a failure by then, which was healed meanwhile."""
    tracker, seen = grown()

    ranges = slice_of(tracker.store, replace(seen, failed=1), 0, 10, failures).ranges
    assert [(each.first, each.last) for each in ranges] == found
