"""What the row of an ended batch becomes: its ending event, and what a delete leaves of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import State
from fanin.tracker.events import CompletionEvent
from fanin.tracker.writing.deleting import ended_before, is_settled
from tests.tracker.calls import START
from tests.tracker.stored import BATCH, ID, TICK

COMPLETE = replace(BATCH, state=State.COMPLETE)


@pytest.mark.parametrize("origin", [None, ID])
def test_the_event_of_a_reopened_batch_names_its_origin(origin):
    assert CompletionEvent.of(replace(COMPLETE, origin_batch_id=origin)).origin_batch_id == origin


@pytest.mark.parametrize(
    ("state", "check_at", "settled"),
    [(State.COMPLETE, None, True), (State.COMPLETE, START, False), (State.CLOSED, None, False)],
)
def test_a_batch_is_settled_once_it_has_ended_and_has_no_next_check(state, check_at, settled):
    assert is_settled(replace(BATCH, state=state, next_check_at=check_at)) is settled


@pytest.mark.parametrize(
    ("facts", "before"),
    [
        ({"ended_at": START - TICK}, True),
        ({"ended_at": START}, False),
        ({}, False),
        ({"ended_at": START - TICK, "deleted_at": START}, False),
    ],
)
def test_a_batch_ended_before_a_time_if_its_end_is_earlier(facts, before):
    assert ended_before(replace(COMPLETE, **facts), START) is before
