"""A cancel with the children: what is live below a batch ends with it, once, and after a crash, too."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import BatchEnded, KeyReused, NewerSchema
from fanin.tracker import State
from fanin.tracker.batch_changes import cascading
from tests.tracker.calls import ack, opened

MINUTE = timedelta(minutes=1)


@pytest.fixture
def family(tracker):
    """A batch, two children of its one item, and a child of one of them: their ids, and their groups."""
    top = opened(tracker, 1)
    first, second = (opened(tracker, 1, parent_item_id=f"{top[0]}:{top[1]}:0") for _ in range(2))
    return [top, first, second, opened(tracker, 1, parent_item_id=f"{first[0]}:{first[1]}:0")]


def states(tracker, family):
    return [tracker.get("t", batch_id).state for batch_id, _ in family]


def sweeps(tracker, clock, rounds=3):
    for _ in range(rounds):
        clock.at += MINUTE
        assert not tracker.sweep().failed


def test_a_cancel_with_the_children_ends_all_live_batches_below(tracker, family):
    tracker.cancel("t", family[0][0], "no more", children=True)

    assert states(tracker, family) == [State.CANCELLED] * 4
    below = [tracker.get("t", batch_id) for batch_id, _ in family[1:]]
    parents = [family[0][0], family[0][0], family[1][0]]
    assert [each.end_reason for each in below] == [f"batch {parent} was cancelled" for parent in parents]


def test_a_cancel_leaves_the_children_and_a_later_one_ends_them(tracker, clock, family):
    tracker.cancel("t", family[0][0], "no more")
    sweeps(tracker, clock)
    assert states(tracker, family) == [State.CANCELLED, *[State.OPEN] * 3]

    assert tracker.cancel("t", family[0][0], children=True).end_reason == "no more"
    assert states(tracker, family) == [State.CANCELLED] * 4


def test_a_child_that_has_ended_stays_as_it_is(tracker, family):
    tracker.close("t", family[2][0], "closer")
    ack(tracker, *family[2], 0)
    tracker.cancel("t", family[0][0], children=True)

    assert states(tracker, family)[2] is State.COMPLETE


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_what_a_request_does_not_reach_the_sweep_cancels(tracker, clock, family, monkeypatch, budget):
    monkeypatch.setattr("fanin.tracker.service.CANCELS_A_REQUEST", budget)
    monkeypatch.setattr("fanin.tracker.batch_changes.sweeping.CANCELS_A_CHECK", 1)
    sweeps(tracker, clock, 2)  # the first check of a child is over
    tracker.cancel("t", family[0][0], children=True)
    tracker.confirm(tracker.get("t", family[0][0]))
    assert State.OPEN in states(tracker, family)
    sweeps(tracker, clock, 6)

    assert states(tracker, family) == [State.CANCELLED] * 4
    assert tracker.get("t", family[0][0]).next_check_at is None


def test_all_items_that_have_children_are_read_in_parts(tracker, monkeypatch):
    monkeypatch.setattr(cascading, "ITEMS_A_READ", 2)
    top, group = opened(tracker, 5)
    below = [opened(tracker, parent_item_id=f"{top}:{group}:{number}") for number in range(5)]
    tracker.cancel("t", top, children=True)

    assert states(tracker, below) == [State.CANCELLED] * 5


def test_a_child_that_is_stored_after_the_cancel_is_cancelled_by_the_sweep(tracker, clock, family):
    tracker.cancel("t", family[0][0], children=True)
    cancelled = tracker.get("t", family[3][0])
    tracker.store.batches[cancelled.key] = late = replace(
        cancelled, state=State.OPEN, cancels_children=False, next_check_at=clock.at + MINUTE
    )
    sweeps(tracker, clock, 1)

    assert tracker.get("t", late.batch_id).state is State.CANCELLED


def test_a_key_stands_for_a_cancel_with_or_without_the_children(tracker, family):
    tracker.cancel("t", family[0][0], key="k")

    with pytest.raises(KeyReused):
        tracker.cancel("t", family[0][0], key="k", children=True)


def test_a_batch_that_has_ended_otherwise_cancels_no_children(tracker, family):
    tracker.end("t", family[0][0], "enough", "me")

    with pytest.raises(BatchEnded):
        tracker.cancel("t", family[0][0], children=True)
    assert states(tracker, family)[1:] == [State.OPEN] * 3


def test_a_child_that_a_newer_release_wrote_keeps_no_other_one_and_no_event_waiting(
    tracker, clock, family, monkeypatch
):
    newer, get = tracker.get("t", family[1][0]).key, tracker.store.get

    def older(key):
        if key == newer:
            raise NewerSchema("upgrade fanin")
        return get(key)

    monkeypatch.setattr(tracker.store, "get", older)
    cancelled = tracker.cancel("t", family[0][0], children=True)
    assert get(tracker.get("t", family[2][0]).key).state is State.CANCELLED
    for _ in range(16):
        clock.at += MINUTE
        tracker.sweep()
    assert {key for key, _ in tracker.store.notices} >= {cancelled.key}

    monkeypatch.undo()
    sweeps(tracker, clock)
    assert states(tracker, family) == [State.CANCELLED] * 4
