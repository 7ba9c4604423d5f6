"""What a sweep does with a due batch, and how it counts it: ended, put off, reported, announced again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import NotFound
from fanin.tracker import BatchKey, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER
from fanin.tracker.rules.model import SHARDS, shard_of
from fanin.tracker.writing.climb import Climber
from fanin.tracker.writing.sweeping import Sweeper
from tests.tracker.calls import DAY, HOUR, START, ack, fail, opened
from tests.tracker.stored import MINUTE, TICK


def key_of(batch_id):
    return BatchKey("t", batch_id)


def listed(tracker, monkeypatch, *ids):
    """Let the list of due batches show *ids*, whatever became of them since."""
    keys = [key_of(batch_id) for batch_id in ids]
    monkeypatch.setattr(
        tracker.store, "due", lambda shard, alive, _: keys if (shard, alive) == (0, True) else []
    )


def gone(tracker, batch_id):
    del tracker.store.batches[key_of(batch_id)]


def confirmed(tracker, batch_id):
    tracker.confirm(tracker.cancel("t", batch_id))


def put_off(tracker, batch_id):
    tracker.store.postpone(tracker.get("t", batch_id), tracker.now() + TICK)


@pytest.mark.parametrize("since", [gone, confirmed, put_off])
def test_what_is_not_due_any_more_is_not_checked(tracker, monkeypatch, since):
    batch_id, _ = opened(tracker, 1, deadline=HOUR)
    since(tracker, batch_id)
    listed(tracker, monkeypatch, batch_id)
    done = tracker.sweep()

    assert (done.looked, done.failed) == (0, 0)


def test_a_batch_is_checked_at_the_time_of_its_check(tracker, clock):
    batch_id, _ = opened(tracker, 1, deadline=HOUR)
    clock.at = tracker.get("t", batch_id).next_check_at

    assert tracker.sweep().looked == 1


def test_the_check_of_a_batch_that_fails_is_put_off(tracker, clock, monkeypatch):
    """It does not take the time of the other batches in each sweep."""
    batch_id, _ = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")

    def broken(*_):
        raise ValueError("no such page")

    monkeypatch.setattr(tracker.store, "mark_tail", broken)
    clock.at += CHECK_AFTER
    first, second = tracker.sweep(), tracker.sweep()

    assert (first.looked, first.failed) == (1, 1)
    assert (second.looked, second.failed) == (0, 0)
    monkeypatch.undo()
    clock.at += CHECK_AFTER
    done = tracker.sweep()
    assert (done.looked, done.failed) == (1, 0)


def test_a_batch_ends_at_its_deadline_and_its_row_says_so(tracker, clock):
    batch_id, _ = opened(tracker, 1, deadline=HOUR)
    clock.at += HOUR
    done = tracker.sweep()

    assert (done.looked, done.timed_out, done.expired) == (1, 1, 0)
    assert tracker.get("t", batch_id).end_reason == "deadline"


def test_a_batch_without_activity_expires_before_a_later_deadline(tracker, clock):
    batch_id, _ = opened(tracker, 1, deadline=30 * DAY)
    clock.at += 7 * DAY
    done = tracker.sweep()

    assert (done.looked, done.timed_out, done.expired) == (1, 0, 1)
    assert tracker.store.get(key_of(batch_id)).end_reason == "inactivity"


def test_a_batch_with_activity_expires_at_its_greatest_age_and_says_so(tracker, clock):
    batch_id, group = opened(tracker, 500)
    for day in range(400):
        clock.at = START + day * DAY
        ack(tracker, batch_id, group, day)
    tracker.sweep()

    ended = tracker.store.get(key_of(batch_id))
    assert (ended.state, ended.end_reason, ended.ended_at - START) == (State.EXPIRED, "age", 393 * DAY)


class Deleting(MemoryStore):
    """A store that deletes a row after its time to live, between its read and its end."""

    def transition(self, key, change):
        self.batches.pop(key, None)
        return super().transition(key, change)


def test_a_row_that_is_deleted_before_its_end_is_written_is_no_error(clock):
    tracker = Tracker(Deleting(), page_bits=4, now=clock, pause=lambda _: None)
    batch_id, _ = opened(tracker, 1)
    clock.at += 8 * DAY
    done = tracker.sweep()

    assert (done.looked, done.expired, done.failed) == (1, 0, 0)
    with pytest.raises(NotFound):
        tracker.get("t", batch_id)


def test_thresholds_are_counted_as_often_as_they_are_reported(tracker, clock):
    for _ in range(2):
        fail(tracker, *opened(tracker, 5, notify_at=("firstFailure",)), 0)
    opened(tracker, 5, notify_at=("firstFailure",))
    clock.at += MINUTE
    first = tracker.sweep()
    clock.at += MINUTE

    assert (first.looked, first.reached) == (3, 2)
    assert tracker.sweep().reached == 0


def test_a_threshold_that_another_sweep_reported_is_not_counted(tracker, clock, monkeypatch):
    fail(tracker, *opened(tracker, 5, notify_at=("firstFailure",)), 0)
    report = tracker.store.report

    def reported_before(seen, reached):
        report(seen, reached)
        return report(seen, reached)

    monkeypatch.setattr(tracker.store, "report", reported_before)
    clock.at += MINUTE
    done = tracker.sweep()

    assert (done.looked, done.reached, done.failed) == (1, 0, 0)


@pytest.mark.parametrize(("after", "resent"), [(MINUTE, 0), (CHECK_AFTER - TICK, 0), (CHECK_AFTER, 1)])
def test_an_ending_event_is_resent_once_the_bus_had_its_time_to_confirm_it(tracker, clock, after, resent):
    """The end of a child is checked sooner: its parent's item is to be acked."""
    parent, group = opened(tracker, 1)
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
    tracker.cancel("t", child)
    clock.at += after
    done = tracker.sweep()

    assert (done.looked, done.announced_again, done.failed) == (1, resent, 0)
    assert len(tracker.store.notices) == resent


def test_an_ended_row_without_the_time_of_its_end_is_put_off(tracker, clock):
    batch = tracker.close("t", opened(tracker)[0], "closer").batch
    tracker.store.batches[batch.key] = replace(batch, ended_at=None)
    clock.at += CHECK_AFTER
    done = tracker.sweep()

    assert (done.looked, done.failed) == (1, 0)
    assert tracker.get("t", batch.batch_id).next_check_at > clock.at


def in_each_list(tracker):
    """A batch in each list of due batches: the live and the ended ones of each shard."""
    alive, ended = set(), set()
    while len(alive) + len(ended) < 2 * SHARDS:
        batch_id, _ = opened(tracker, 1, deadline=HOUR)
        shard = shard_of(batch_id)
        if shard not in alive:
            alive.add(shard)
        elif shard not in ended:
            tracker.cancel("t", batch_id)
            ended.add(shard)
        else:
            gone(tracker, batch_id)


def test_each_worker_begins_with_a_list_of_its_own(tracker, clock):
    """So none waits for the others to read a list: each has time for one batch here."""
    permits = []

    def each(call, values):
        found = []
        for value in values:
            permits[:] = [True]
            found.append(call(value))
        return found

    in_each_list(tracker)
    clock.at += HOUR
    done = replace(tracker, each=each).sweep(lambda: bool(permits and permits.pop()))

    assert (done.looked, done.timed_out) == (2 * SHARDS, SHARDS)


def test_a_sweeper_has_time_unless_it_is_given_a_limit(tracker, clock):
    ids = [opened(tracker, 1, deadline=HOUR)[0] for _ in range(3)]
    clock.at += HOUR
    ended = []
    sweeper = Sweeper(Climber(tracker.store, clock), ended.append)

    assert sweeper.sweep().timed_out == 3
    assert {batch.batch_id for batch in ended} == set(ids)
