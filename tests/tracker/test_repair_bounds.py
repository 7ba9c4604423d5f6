"""Reopen and delete at their bounds: defaults, quotas, an index that lags, rows that are gone meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import BatchEnded, QuotaExceeded
from fanin.tracker import State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey, Sample
from fanin.tracker.store import Listing
from fanin.tracker.writing.deleting import Deleted
from fanin.tracker.writing.reopening import ReopenBatch
from tests.tracker.calls import DAY, HOUR, START, ack, fail, opened, verdicts
from tests.tracker.stored import SECOND

LATER = START + HOUR
SLOTS = 128


def ended(tracker, count=20, failed=(0, 3, 4), **options):
    """A cancelled batch with failures; its id."""
    batch_id, group = opened(tracker, count, **options)
    fail(tracker, batch_id, group, *failed)
    tracker.cancel("t", batch_id)
    return batch_id


def settled(tracker, **options):
    """A cancelled batch whose event is confirmed; its id."""
    batch_id = ended(tracker, **options)
    tracker.confirm(stored(tracker, batch_id))
    return batch_id


def stored(tracker, batch_id):
    return tracker.store.get(BatchKey("t", batch_id))


def reopen(tracker, origin, key=None, **options):
    return tracker.reopen("t", ReopenBatch(origin_batch_id=origin, **options), "me", key)


def test_the_key_of_a_reopened_batch_that_has_ended_opens_no_other(tracker):
    origin = ended(tracker)
    batch = reopen(tracker, origin, "k")
    tracker.cancel("t", batch.batch_id)

    with pytest.raises(BatchEnded, match=f"batch {batch.batch_id} is CANCELLED"):
        reopen(tracker, origin, "k")


def test_a_reopened_batch_over_the_quota_is_not_stored(tracker):
    def refuse(tenant, batch_id):
        raise QuotaExceeded("too many batches", quota="batches", limit=1, used=1)

    origin = ended(tracker)
    with pytest.raises(QuotaExceeded):
        reopen(replace(tracker, admit=refuse), origin)

    assert [key.batch_id for key in tracker.store.batches] == [origin]


@pytest.fixture
def three(tracker, clock):
    """Three batches that are ready to be deleted, the oldest first, a second apart."""
    made = []
    for _ in range(3):
        made.append(settled(tracker))
        clock.at += SECOND
    return made


def left(tracker):
    return [key.batch_id for key, batch in tracker.store.batches.items() if batch.deleted_at is None]


def test_a_part_of_a_bulk_delete_goes_on_after_its_position(tracker, three):
    _, middle, newest = three
    done = tracker.delete_ended("t", LATER, stored(tracker, middle).position)

    assert done == Deleted(1, 0, None)
    assert left(tracker) == [middle, newest]


def test_a_bulk_delete_leaves_out_what_is_gone_or_deleted_by_now(tracker, three, monkeypatch):
    """The list is an index, which may lag."""
    lagging = Listing(tuple(stored(tracker, batch_id) for batch_id in three), None)
    empty = Listing((), None)
    monkeypatch.setattr(tracker.store, "listing", lambda query: empty if query.shard else lagging)
    del tracker.store.batches[BatchKey("t", three[0])]
    tracker.delete("t", three[1])

    assert tracker.delete_ended("t", LATER) == Deleted(1, 0, None)
    assert left(tracker) == []


def test_the_tracker_that_deleted_a_batch_answers_its_acks_as_expired(tracker):
    """It has seen the end of the batch before, and would answer from that."""
    batch_id, group = opened(tracker, 2)
    tracker.confirm(tracker.cancel("t", batch_id))
    assert verdicts(ack(tracker, batch_id, group, 0)) == [Verdict.CANCELLED]
    tracker.delete("t", batch_id)

    assert verdicts(ack(tracker, batch_id, group, 0)) == [Verdict.EXPIRED]


def late_reason_kept(tracker, batch):
    """Whether a reason that arrives late is kept in any slot."""
    late = Sample(f"{batch.batch_id}:{batch.batch_id}:2", "late", START)
    kept = [tracker.store.sample(batch.key, slot, late, START + DAY) for slot in range(SLOTS)]
    return any(each is not None for each in kept)


@pytest.mark.parametrize("healed", [(), (0,), (0, 1)])
def test_a_delete_blocks_each_slot_of_a_batch_that_had_failures(tracker, healed):
    """A healed failure may have left its reason, or its write may arrive late."""
    batch_id, group = opened(tracker, 4)
    fail(tracker, batch_id, group, 0, 1)
    ack(tracker, batch_id, group, *healed)
    batch = tracker.cancel("t", batch_id)
    tracker.confirm(batch)
    assert (batch.failed, batch.healed) == (2 - len(healed), len(healed))
    tracker.delete("t", batch_id)

    assert not late_reason_kept(tracker, batch)


class Deleting(MemoryStore):
    """A store that deletes a row after its time to live, between its read and its update."""

    def delete(self, seen, at):
        self.batches.pop(seen.key)
        return super().delete(seen, at)


def test_a_row_that_is_gone_before_its_user_data_is_removed_is_no_error(clock):
    tracker = Tracker(Deleting(), page_bits=4, now=clock, pause=lambda _: None)
    batch_id = settled(tracker)
    seen = stored(tracker, batch_id)

    assert tracker.delete("t", batch_id) == seen
    assert seen.state is State.CANCELLED
    assert left(tracker) == []
