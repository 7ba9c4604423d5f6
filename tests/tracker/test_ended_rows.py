"""What the row of an ended batch becomes: its ending event, and what a delete leaves of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import State
from fanin.tracker.events import CompletionEvent
from fanin.tracker.rules.model import BatchKey
from fanin.tracker.writing.deleting import is_settled
from tests.tracker.calls import HOUR, START, opened
from tests.tracker.stored import BATCH, ID

COMPLETE = replace(BATCH, state=State.COMPLETE)
LATER = START + HOUR


@pytest.mark.parametrize("completed_at", [None, START])
def test_an_event_has_the_time_of_the_end(completed_at):
    event = CompletionEvent.of(replace(COMPLETE, ended_at=LATER, completed_at=completed_at))

    assert (event.ended_at, event.completed_at) == (LATER, completed_at)


@pytest.mark.parametrize("origin", [None, ID])
def test_the_event_of_a_reopened_batch_names_its_origin(origin):
    assert CompletionEvent.of(replace(COMPLETE, origin_batch_id=origin)).origin_batch_id == origin


def test_a_delete_removes_the_caller_who_completed_the_batch(tracker):
    batch_id, _ = opened(tracker)
    tracker.confirm(tracker.close("t", batch_id, "a user").batch)
    assert tracker.get("t", batch_id).completed_by == "a user"
    tracker.delete("t", batch_id)

    assert tracker.store.get(BatchKey("t", batch_id)).completed_by is None


@pytest.mark.parametrize(
    ("state", "check_at", "settled"),
    [(State.COMPLETE, None, True), (State.COMPLETE, START, False), (State.CLOSED, None, False)],
)
def test_a_batch_is_settled_once_it_has_ended_and_has_no_next_check(state, check_at, settled):
    assert is_settled(replace(BATCH, state=state, next_check_at=check_at)) is settled


def test_fifty_batches_of_a_list_are_deleted_in_one_part(tracker, clock):
    for _ in range(51):
        batch_id, _ = opened(tracker)
        tracker.confirm(tracker.cancel("t", batch_id))
    clock.at = LATER
    first = tracker.delete_ended("t", LATER)
    second = tracker.delete_ended("t", LATER, first.resume)

    assert (first.count, second.count, second.resume) == (50, 1, None)
