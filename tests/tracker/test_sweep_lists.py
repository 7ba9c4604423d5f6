"""Which batches a sweep looks at: each due one once, side by side, while there is time, whatever fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest

from fanin.pacing import each_in_threads
from fanin.tracker import BatchKey
from fanin.tracker.rules.model import SHARDS, shard_of
from tests.tracker.calls import HOUR, opened

WAIT_SECONDS = 30


def in_every_shard(tracker, **options):
    """A batch of each shard, by shard."""
    found = {}
    while len(found) < SHARDS:
        batch_id, _ = opened(tracker, 1, **options)
        found.setdefault(shard_of(batch_id), batch_id)
    return found


def test_what_a_sweep_has_no_time_for_is_for_the_next(tracker, clock):
    for _ in range(40):
        opened(tracker, 1, deadline=HOUR)
    clock.at += HOUR
    first = iter([True] * 30)
    done = tracker.sweep(lambda: next(first, False))
    rest = tracker.sweep()

    assert 0 < done.timed_out < 40
    assert done.timed_out + rest.timed_out == 40


def test_all_that_is_overdue_ends_before_an_event_is_sent_again(tracker, clock):
    for _ in range(40):
        tracker.close("t", opened(tracker)[0], "closer")
        opened(tracker, 1, deadline=HOUR)
    clock.at += HOUR

    assert tracker.sweep(lambda: not tracker.store.notices).timed_out == 40


def test_one_slow_batch_keeps_no_other_waiting(tracker, clock, monkeypatch):
    """It is looked at for as long as any other has not ended, also one of its own shard."""
    ids = in_every_shard(tracker, deadline=HOUR)
    same = next(iter(ids))
    clock.at += timedelta(seconds=1)
    while shard_of(behind := opened(tracker, 1, deadline=HOUR)[0]) != same:
        pass
    clock.at += HOUR
    left, all_others = set(tracker.store.batches) - {BatchKey("t", ids[same])}, Event()
    assert BatchKey("t", behind) in left
    original = tracker.store.transition

    def slow(key, step):
        if key.batch_id == ids[same]:
            assert all_others.wait(WAIT_SECONDS)
        stored = original(key, step)
        left.discard(key)
        if not left:
            all_others.set()
        return stored

    monkeypatch.setattr(tracker.store, "transition", slow)
    done = replace(tracker, each=each_in_threads).sweep()

    assert (done.failed, done.timed_out) == (0, len(tracker.store.batches))


@pytest.mark.parametrize("broken", ["get", "transition"])
def test_a_batch_that_cannot_be_swept_or_put_off_keeps_no_other_waiting(tracker, clock, monkeypatch, broken):
    ids = [opened(tracker, 1, deadline=HOUR)[0] for _ in range(20)]
    clock.at += 2 * HOUR
    for name in (broken, "postpone"):
        monkeypatch.setattr(tracker.store, name, refusing(ids[0], getattr(tracker.store, name)))
    done = tracker.sweep()
    monkeypatch.undo()

    assert (done.failed, done.timed_out) == (1, 19)
    assert tracker.sweep().timed_out == 1


def refusing(batch_id, request):
    """*request*, which fails for one batch."""

    def refused(subject, *args):
        if subject.batch_id == batch_id:
            raise KeyError("no such attribute")
        return request(subject, *args)

    return refused


def test_what_lags_in_the_index_is_not_the_oldest(tracker, clock, monkeypatch):
    """The index still shows a batch that has ended, and one whose row is gone."""
    first, second = opened(tracker, 1)[0], opened(tracker, 1)[0]
    clock.at += HOUR
    oldest = opened(tracker, 1)[0]
    lagging = [BatchKey("t", first), BatchKey("t", second), BatchKey("t", oldest)]
    tracker.cancel("t", first)
    del tracker.store.batches[BatchKey("t", second)]
    clock.at += HOUR
    monkeypatch.setattr(tracker.store, "live", lambda shard: iter(lagging))

    assert tracker.longest_open() == HOUR


def test_a_list_of_due_batches_that_cannot_be_read_is_an_error_and_the_others_are_swept(
    tracker, clock, monkeypatch
):
    in_every_shard(tracker, deadline=HOUR)
    clock.at += HOUR
    due = tracker.store.due

    def broken(shard, *more, **named):
        if shard == 3:
            raise RuntimeError("this list cannot be read")
        return due(shard, *more, **named)

    monkeypatch.setattr(tracker.store, "due", broken)
    failed = tracker.sweep().failed

    assert failed >= 1
    assert {shard_of(key.batch_id) for key, batch in tracker.store.batches.items() if batch.is_alive} == {3}
