"""A completion is reported by the process that decided it, once, on every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.tracker import Ack, BatchKey, OpenBatch, Outcome, State, Tracker
from fanin.tracker.announcing import announcing
from fanin.tracker.rules.lifecycle import transition

AT = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)
"""Rows have milliseconds."""


class World:
    """A tracker that reports into ``seen``, and another one on the same store that reports nothing."""

    def __init__(self, store):
        self.at, self.seen = AT, []
        self.tracker = self.tracker_on(announcing(store, self.seen.append))
        self.other = self.tracker_on(store)

    def tracker_on(self, store):
        return Tracker(store, page_bits=4, fresh_for=timedelta(0), now=lambda: self.at, pause=lambda _: None)

    def ready(self, count=9, *, is_closed=True, **options):
        """Return the id of a batch with *count* items and that of its group."""
        batch_id = self.other.open("t", OpenBatch(**options)).batch_id
        group = self.other.add("t", batch_id, count).groups[0].id
        if is_closed:
            self.other.close("t", batch_id, "closer")
        return batch_id, group

    def ack(self, tracker, batch_id, group, first, last, outcome=Outcome.SUCCESS):
        return tracker.ack("t", [Ack(batch_id, group, first, last, "worker", outcome)])

    def reported(self):
        return [batch.batch_id for batch in self.seen]


@pytest.fixture
def world(store):
    return World(store)


def test_the_last_ack_reports_the_batch_as_it_is_stored(world, store):
    batch_id, group = world.ready()
    world.ack(world.tracker, batch_id, group, 0, 7)
    assert not world.seen
    world.ack(world.tracker, batch_id, group, 8, 8)

    assert world.seen == [store.get(BatchKey("t", batch_id))]
    assert world.seen[0].state is State.COMPLETE


def test_a_close_after_the_last_ack_and_one_of_an_empty_batch_report(world):
    batch_id, group = world.ready(is_closed=False)
    world.ack(world.other, batch_id, group, 0, 8)
    world.tracker.close("t", batch_id, "closer")
    empty = world.other.open("t", OpenBatch()).batch_id
    world.tracker.close("t", empty, "closer")

    assert world.reported() == [batch_id, empty]


def test_a_sweep_reports_what_a_crash_left(world, store):
    batch_id, group = world.ready(1, is_closed=False)
    world.ack(world.other, batch_id, group, 0, 0)
    closing = world.other.get("t", batch_id)
    store.transition(closing.key, transition(closing, State.CLOSED, world.at))
    world.at += timedelta(hours=1)
    world.tracker.sweep()

    assert world.reported() == [batch_id]


def test_nothing_else_is_reported_cancelled_failed_timed_out_expired_or_completed_by_another(world):
    cancelled, _ = world.ready()
    world.tracker.cancel("t", cancelled)
    forced, _ = world.ready()
    world.tracker.end("t", forced, "stuck", "me")
    failed, group = world.ready(max_failures=1)
    world.ack(world.tracker, failed, group, 0, 1, Outcome.FAILURE)
    ready, group = world.ready()
    world.ack(world.other, ready, group, 0, 8)
    overdue, _ = world.ready(deadline=timedelta(minutes=1))
    world.at += timedelta(days=400)
    world.tracker.sweep()
    for batch_id in (cancelled, forced, failed, overdue):
        assert not world.tracker.store.get(BatchKey("t", batch_id)).is_alive

    assert not world.seen


def test_a_repeated_ack_is_answered_with_the_completion_and_reports_nothing(world):
    batch_id, group = world.ready(1)
    assert world.ack(world.tracker, batch_id, group, 0, 0).completions
    world.at += timedelta(milliseconds=1)
    assert world.ack(world.tracker, batch_id, group, 0, 0).completions
    world.tracker.close("t", batch_id, "worker")

    assert world.reported() == [batch_id]


def test_a_decision_whose_answer_was_lost_is_reported_by_the_copy_that_is_refused(world, store):
    """As botocore sends it again: the condition fails, and the stored row is that of the first copy."""
    batch_id, group = world.ready(1)
    decide = store.transition

    class Lossy:
        def __getattr__(self, name):
            return getattr(store, name)

        def transition(self, key, change):
            decide(key, change)
            return decide(key, change)

    tracker = world.tracker_on(announcing(Lossy(), world.seen.append))
    world.ack(tracker, batch_id, group, 0, 0)

    assert world.reported() == [batch_id]


def test_a_decision_without_an_answer_is_left_to_the_stream(world, store):
    batch_id, group = world.ready(1)

    class Lost:
        def __getattr__(self, name):
            return getattr(store, name)

        def transition(self, key, change):
            store.transition(key, change)
            raise StoreUnavailable("no answer")

    with pytest.raises(StoreUnavailable):
        world.ack(world.tracker_on(announcing(Lost(), world.seen.append)), batch_id, group, 0, 0)

    assert not world.seen
    assert store.get(BatchKey("t", batch_id)).state is State.COMPLETE
