"""A batch is stored, grown and closed, and ends once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import State
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.page import PageMasks
from tests.contract.tracker.calls import ENDINGS, KEY, LATER, LEAF, NOW, close, complete, receipt, reserve


def test_the_first_batch_of_a_key_stays(store, batch):
    store.create(batch)

    assert store.create(replace(batch, salt=b"another salt....")) == batch
    assert store.get(KEY) == batch


def test_a_batch_that_is_not_there_is_none(store):
    assert store.get(KEY) is None
    assert close(store) is None
    assert complete(store, "me") is None
    assert store.get(KEY) is None


def test_a_reservation_grows_the_batch_and_leaves_a_receipt(store, batch):
    store.create(batch)

    assert reserve(store, batch, receipt(0, 10)) == receipt(0, 10)
    assert store.get(KEY) == replace(batch, total=10)
    assert store.receipt(KEY, "k") == receipt(0, 10)


def test_the_same_key_is_answered_with_its_first_reservation(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert reserve(store, replace(batch, total=10), receipt(10, 5)) == receipt(0, 10)
    assert store.get(KEY).total == 10


def test_close_happens_once_and_keeps_its_time(store, batch):
    store.create(batch)
    closed = replace(batch, state=State.CLOSED, closed_at=NOW, expires_at=LATER, next_check_at=LATER)

    assert close(store) == closed
    assert close(store, LATER) == closed


def test_an_open_batch_does_not_complete(store, batch):
    store.create(batch)

    assert complete(store, "me") == batch
    assert store.get(KEY) == batch


def test_the_first_to_complete_a_closed_batch_is_named_for_ever(store, batch):
    store.create(batch)
    close(store)
    first = complete(store, "first")

    assert (first.state, first.completed_by, first.completed_at) == (State.COMPLETE, "first", NOW)
    assert complete(store, "second", LATER) == first


@pytest.mark.parametrize("step", ENDINGS, ids=lambda step: step.to)
@pytest.mark.parametrize("closed", [False, True])
def test_a_live_batch_ends_once_and_for_ever(store, batch, step, closed):
    store.create(replace(batch, deadline_at=NOW, expires_at=NOW))
    if closed:
        store.transition(KEY, Transition(State.CLOSED, NOW, NOW, LATER))
    ended = store.transition(KEY, step)

    assert (ended.state, ended.ended_at, ended.end_reason) == (step.to, NOW, step.reason)
    assert store.get(KEY) == ended
    for other in ENDINGS:
        assert store.transition(KEY, replace(other, at=LATER)) == ended


def test_a_batch_without_a_deadline_does_not_time_out(store, batch):
    store.create(batch)

    assert store.transition(KEY, ENDINGS[2]).state is State.OPEN


@pytest.mark.parametrize(("expected", "state"), [(11, State.OPEN), (10, State.CLOSED), (9, State.CLOSED)])
def test_close_waits_for_the_items_that_are_expected(store, batch, expected, state):
    batch = replace(batch, expected_items=expected)
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert close(store).state is state


def test_an_ended_batch_does_not_live_longer(store, batch):
    store.create(batch)
    ended = store.transition(KEY, ENDINGS[0])

    assert store.extend(KEY, batch.expires_at + timedelta(days=1), LATER) == ended


@pytest.mark.parametrize("store", ["dynamodb"], indirect=True)
def test_a_row_outlasts_the_pages_whatever_becomes_of_its_batch(store, batch):
    store.create(batch)
    store.transition(KEY, ENDINGS[0])
    store.add_bits(LEAF, PageMasks(1), batch.pages_expire_at)
    row = store._row({"pk": {"S": str(KEY)}, "sk": {"S": "batch"}})

    assert int(row["ttl"]["N"]) > batch.pages_expire_at.timestamp()


def test_enough_successes_complete_a_live_batch_once_and_a_final_total_a_closed_one(store, batch):
    store.create(batch)
    enough = Transition(State.COMPLETE, NOW, LATER, LATER, caller="a", reached=2)

    assert store.transition(KEY, replace(enough, final=True)).state is State.OPEN
    ended = store.transition(KEY, enough)
    assert (ended.state, ended.result, ended.reached) == (State.COMPLETE, "enough", 2)
    assert store.transition(KEY, replace(enough, caller="b", reached=3)) == ended == close(store)
    assert store.get(KEY) == ended


def test_failures_of_a_final_total_end_a_closed_batch_alone(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b11), LATER)
    step = Transition(State.FAILED, NOW, LATER, LATER, failures=2, final=True)

    assert store.transition(KEY, step).state is State.OPEN
    close(store)
    assert store.transition(KEY, replace(step, failures=3)).state is State.CLOSED
    assert store.transition(KEY, step).state is State.FAILED
