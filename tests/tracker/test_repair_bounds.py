"""Reopen and delete at their bounds: defaults, quotas, an index that lags, rows that are gone meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import BatchEnded, Conflict, QuotaExceeded
from fanin.tracker import State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey, Sample
from fanin.tracker.store import Listing
from fanin.tracker.writing import reopening
from fanin.tracker.writing.deleting import Deleted
from fanin.tracker.writing.reopening import ReopenBatch, ReopenItems
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


def test_the_items_of_an_origin_are_read_from_the_first_a_thousand_ranges_at_a_time():
    tracker = Tracker(MemoryStore(), pause=lambda _: None)
    batch = reopen(tracker, ended(tracker, 2_002, range(0, 2_002, 2)))
    part = tracker.origin(batch)

    assert (part.rank, part.ranges[0].first, len(part.ranges), part.resume) == (0, 0, 1_000, (2_000, 1_000))


def test_a_live_batch_is_not_reopened_whatever_its_size(tracker, monkeypatch):
    """The pages of a live batch are not read, which would find too many ranges or pages."""
    monkeypatch.setattr(reopening, "PAGES_A_REOPEN", 0)
    batch_id, _ = opened(tracker, 4)

    with pytest.raises(Conflict, match="has not ended; wait for its end, or cancel it"):
        reopen(tracker, batch_id, items=ReopenItems.UNFINISHED)


def test_the_failed_items_of_a_batch_without_a_parent_are_reopened_without_a_read_of_its_pages(
    tracker, monkeypatch
):
    origin = ended(tracker)
    monkeypatch.setattr(tracker.store, "pages", None)

    assert reopen(tracker, origin).total == 3


def test_a_reopened_batch_is_admitted_like_a_new_one(tracker):
    admitted = []
    origin = ended(tracker)
    limited = replace(tracker, admit=lambda *names: admitted.append(names))
    batch = reopen(limited, origin)

    assert admitted == [("t", batch.batch_id)]


def test_a_reopened_batch_over_the_quota_is_not_stored(tracker):
    def refuse(tenant, batch_id):
        raise QuotaExceeded("too many batches", quota="batches", limit=1, used=1)

    origin = ended(tracker)
    with pytest.raises(QuotaExceeded):
        reopen(replace(tracker, admit=refuse), origin)

    assert [key.batch_id for key in tracker.store.batches] == [origin]


def test_the_salt_of_a_reopened_batch_is_as_long_as_that_of_a_new_one(tracker):
    origin = ended(tracker)

    assert len(reopen(tracker, origin).salt) == len(tracker.get("t", origin).salt) == 16


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


def test_a_position_after_the_time_excludes_no_batch(tracker, three):
    done = tracker.delete_ended("t", LATER, (LATER + DAY, ""))

    assert done == Deleted(3, 0, None)


def test_a_bulk_delete_reads_no_row_of_a_batch_that_its_list_shows_as_live(tracker, monkeypatch):
    for _ in range(3):
        opened(tracker)
    monkeypatch.setattr(tracker.store, "get", None)

    assert tracker.delete_ended("t", LATER) == Deleted(0, 0, None)


def test_a_bulk_delete_leaves_out_what_is_gone_or_deleted_by_now(tracker, three, monkeypatch):
    """The list is an index, which may lag."""
    lagging = Listing(tuple(stored(tracker, batch_id) for batch_id in three), None)
    empty = Listing((), None)
    monkeypatch.setattr(tracker.store, "listing", lambda query: empty if query.shard else lagging)
    del tracker.store.batches[BatchKey("t", three[0])]
    tracker.delete("t", three[1])

    assert tracker.delete_ended("t", LATER) == Deleted(1, 0, None)
    assert left(tracker) == []


def test_a_delete_returns_the_deleted_batch(tracker, clock):
    batch_id = settled(tracker, user_key="k")
    clock.at += HOUR
    batch = tracker.delete("t", batch_id)

    assert (batch.batch_id, batch.deleted_at, batch.user_key) == (batch_id, LATER, None)


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
