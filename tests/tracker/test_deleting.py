"""A deleted batch keeps no user data, is not found, and never comes back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.tracker import ListQuery, OpenBatch, Sample, State, Verdict
from fanin.tracker.batch_changes.deleting import Deleted, check_deletable, ended_before
from fanin.tracker.reads.failure_reasons import SAMPLES
from fanin.tracker.rules.model import BatchKey
from fanin.tracker.store import Listing
from tests.tracker.calls import DAY, HOUR, START, ack, fail, opened, verdicts
from tests.tracker.stored import BATCH, TICK


def ended(tracker, **options):
    """A cancelled batch of five items with a failure, and a reason for its end; its id, and its group."""
    batch_id, group = opened(tracker, 5, **options)
    fail(tracker, batch_id, group, 2, reason="of a user")
    tracker.cancel("t", batch_id, "said a user")
    return batch_id, group


def confirm(tracker, batch_id):
    tracker.confirm(tracker.store.get(BatchKey("t", batch_id)))


def settled(tracker, **options):
    batch_id, group = ended(tracker, **options)
    confirm(tracker, batch_id)
    return batch_id, group


def test_a_delete_may_be_repeated_and_goes_on_after_a_crash(tracker):
    batch_id, _ = settled(tracker)
    crashing = replace(tracker, store=Unreachable(tracker.store), _known={})
    with pytest.raises(ConnectionError):
        crashing.delete("t", batch_id)
    assert tracker.get("t", batch_id).deleted_at is None
    for _ in range(2):
        tracker.delete("t", batch_id)

    assert tracker.store.samples(BatchKey("t", batch_id)) == []
    with pytest.raises(NotFound):
        tracker.get("t", batch_id)


class Unreachable:
    """A store whose row of the batch cannot be written."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        if name == "delete":
            raise ConnectionError
        return getattr(self.store, name)


def all_deleted(tracker, before):
    """Delete part by part; the counts of all parts, and their number."""
    count = unconfirmed = parts = 0
    after = None
    while parts == 0 or after is not None:
        part = tracker.delete_ended("t", before, after)
        count, unconfirmed, parts = count + part.count, unconfirmed + part.unconfirmed, parts + 1
        after = part.resume
    return count, unconfirmed, parts


def test_batches_that_ended_before_a_time_are_deleted_in_bounded_parts(tracker, clock, monkeypatch):
    monkeypatch.setattr("fanin.tracker.batch_changes.repairing.DELETED_A_REQUEST", 4)
    old = [settled(tracker)[0] for _ in range(10)]
    unconfirmed, _ = ended(tracker)
    live, _ = opened(tracker, 1)
    tracker.open("other", OpenBatch())
    clock.at += DAY
    young = [settled(tracker)[0] for _ in range(3)]

    count, without_confirmation, parts = all_deleted(tracker, START + HOUR)
    assert (count, without_confirmation) == (10, 1)
    assert parts >= 3
    kept = {batch.batch_id for batch in tracker.list("t", ListQuery()).batches}
    assert kept == {unconfirmed, live, *young}
    assert not kept & set(old)
    assert all_deleted(tracker, START + HOUR)[:2] == (0, 1)


@pytest.mark.parametrize(
    ("facts", "is_before"),
    [
        ({"ended_at": START - TICK}, True),
        ({"ended_at": START}, False),
        ({"ended_at": None}, False),
        ({"ended_at": START - TICK, "deleted_at": START}, False),
    ],
)
def test_a_batch_has_ended_before_a_time_until_it_is_deleted(facts, is_before):
    assert ended_before(replace(BATCH, **facts), START) is is_before


@pytest.mark.parametrize(
    ("facts", "waits", "why"),
    [
        ({}, False, "is CLOSED; cancel it first"),
        ({"state": State.CANCELLED, "next_check_at": START}, False, "is not confirmed yet"),
        ({"state": State.CANCELLED}, True, "is not resumed yet"),
    ],
)
def test_a_batch_that_is_not_settled_is_not_deleted(facts, waits, why):
    with pytest.raises(Conflict, match=why):
        check_deletable(replace(BATCH, **facts), waits)
    check_deletable(replace(BATCH, state=State.CANCELLED), False)


def test_a_bulk_delete_leaves_out_what_is_gone_or_deleted_by_now(tracker, clock, monkeypatch):
    """The list is an index, which may lag."""
    ids = [settled(tracker)[0] for _ in range(3)]
    clock.at += HOUR
    lagging = Listing(tuple(tracker.get("t", batch_id) for batch_id in ids), None)
    monkeypatch.setattr(tracker.store, "listing", lambda query: Listing((), None) if query.shard else lagging)
    del tracker.store.batches[BatchKey("t", ids[0])]
    tracker.delete("t", ids[1])

    assert tracker.delete_ended("t", clock.at) == Deleted(1, 0, None)
    assert all(batch.deleted_at for batch in tracker.store.batches.values())


def test_the_tracker_that_deleted_a_batch_answers_its_acks_as_expired(tracker):
    """It has seen the end of the batch before, and would answer from that."""
    batch_id, group = settled(tracker)
    assert verdicts(ack(tracker, batch_id, group, 0)) == [Verdict.CANCELLED]
    tracker.delete("t", batch_id)

    assert verdicts(ack(tracker, batch_id, group, 0)) == [Verdict.EXPIRED]


@pytest.mark.parametrize("healed", [(), (0,), (0, 1)])
def test_a_delete_blocks_each_slot_of_a_batch_that_had_failures(tracker, healed):
    """A healed failure may have left its reason, or its write may arrive late."""
    batch_id, group = opened(tracker, 4)
    fail(tracker, batch_id, group, 0, 1)
    ack(tracker, batch_id, group, *healed)
    batch = tracker.cancel("t", batch_id)
    confirm(tracker, batch_id)
    tracker.delete("t", batch_id)

    late = Sample(f"{batch_id}:{group}:2", "late", START)
    assert {tracker.store.sample(batch.key, slot, late, START + DAY) for slot in range(SAMPLES)} == {None}


def test_a_row_that_is_gone_before_its_user_data_is_removed_is_no_error(tracker, monkeypatch):
    """TTL deletes it between the read and the update."""
    batch_id, _ = settled(tracker)
    delete = tracker.store.delete

    def delete_late(seen, at):
        del tracker.store.batches[seen.key]
        return delete(seen, at)

    monkeypatch.setattr(tracker.store, "delete", delete_late)
    assert tracker.delete("t", batch_id).deleted_at is None
    assert not tracker.store.batches


class Keeping:
    """Results of which some are left after each delete."""

    def delete(self, _key):
        return False


def test_a_delete_that_leaves_results_says_so_and_may_be_repeated(tracker):
    batch_id, _ = settled(tracker)
    tracker.store.batches[BatchKey("t", batch_id)] = replace(
        tracker.store.get(BatchKey("t", batch_id)), results=True
    )
    keeping = replace(tracker, results=Keeping(), _known={})
    with pytest.raises(StoreUnavailable, match=f"some results of batch {batch_id} are left; repeat"):
        keeping.delete("t", batch_id)
