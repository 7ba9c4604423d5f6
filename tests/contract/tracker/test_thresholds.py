"""A threshold is marked and its notice requested at once, of a live batch; the last ack moves forward."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import State
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached
from tests.contract.tracker.calls import KEY, LATER, NOW

MINUTE = timedelta(minutes=1)
HALF = Reached(Threshold.HALF, NOW, Progress(5, 1, 6, 9, False), 10)


def stall(number, at=NOW):
    return Reached(Threshold.STUCK, at, Progress(0, 0, 0, 0, True), 10, number)


@pytest.fixture
def batch(batch):
    return replace(
        batch, callback="orders", notify_at=(Threshold.FIRST_FAILURE, Threshold.HALF), stuck_after=MINUTE
    )


def test_a_batch_is_read_with_what_it_asks_for(store, batch):
    store.create(batch)

    assert store.get(KEY) == batch


def test_a_threshold_is_reported_once(store, batch):
    store.create(batch)

    assert [store.report(batch, HALF), store.report(batch, HALF)] == [True, False]
    assert store.get(KEY) == replace(batch, reported=frozenset({"50"}))
    assert store.report(batch, replace(HALF, threshold=Threshold.MOST))
    assert store.get(KEY).reported == {"50", "90"}


def test_nothing_is_reported_of_a_batch_that_has_ended_or_is_not_there(store, batch):
    assert not store.report(batch, HALF)
    store.create(batch)
    store.transition(KEY, Transition(State.CANCELLED, NOW, LATER, LATER))

    assert not store.report(batch, HALF)
    assert not store.report(batch, stall(1))
    assert store.get(KEY).reported == frozenset()


def test_a_stall_is_reported_once_and_the_next_one_after_another_ack(store, batch):
    store.create(batch)
    assert [store.report(batch, stall(1)), store.report(batch, stall(1))] == [True, False]
    first = store.get(KEY)
    assert (first.stalls, first.stalled_at) == (1, NOW)

    second = store.record_ack_time(KEY, LATER)
    assert second == replace(first, acked_at=LATER)
    assert not store.report(first, stall(2)), "an ack came since it was seen"
    assert store.report(second, stall(2))
    assert (store.get(KEY).stalls, store.get(KEY).stalled_at) == (2, LATER)


@pytest.mark.parametrize("number", [1, 3])
def test_a_stall_is_reported_after_the_one_before_it_alone(store, batch, number):
    store.create(batch)
    store.report(batch, stall(1))

    assert not store.report(batch, stall(number))
    assert store.get(KEY).stalls == 1


def test_a_stall_is_reported_of_the_last_ack_that_is_stored(store, batch):
    store.create(batch)
    seen = store.record_ack_time(KEY, NOW)

    for at in (NOW - MINUTE, NOW + MINUTE):
        assert not store.report(replace(seen, acked_at=at), stall(1))
    assert store.report(seen, stall(1))
    assert store.get(KEY) == replace(seen, stalls=1, stalled_at=NOW)


def test_no_stall_is_reported_of_a_batch_that_was_closed_since_it_was_seen(store, batch):
    store.create(batch)
    closed = store.transition(KEY, Transition(State.CLOSED, NOW, LATER, LATER))

    assert not store.report(batch, stall(1))
    assert store.report(closed, stall(1))


def test_the_last_ack_moves_forward_only_and_in_a_live_batch_only(store, batch):
    assert store.record_ack_time(KEY, LATER) is None
    store.create(batch)

    assert store.record_ack_time(KEY, LATER).acked_at == LATER
    assert store.record_ack_time(KEY, NOW).acked_at == LATER
    store.transition(KEY, Transition(State.CANCELLED, NOW, LATER, LATER))
    assert store.record_ack_time(KEY, LATER + MINUTE).acked_at == LATER
