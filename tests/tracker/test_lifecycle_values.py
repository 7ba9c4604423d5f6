"""When a batch is checked, how long it is kept, and its transitions, at their bounds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fanin.tracker import State
from fanin.tracker.rules.lifecycle import (
    Transition,
    ends_at,
    expiry,
    extended_expiry,
    first_check,
    needs_repair,
    next_check,
    transition,
)
from fanin.tracker.rules.options import Threshold
from tests.tracker.calls import DAY, HOUR, START
from tests.tracker.stored import BATCH, MINUTE, SECOND, STUCK, TICK


@pytest.mark.parametrize("state", State)
def test_a_batch_is_kept_for_the_retention_of_its_state(state):
    kept = {State.OPEN: 3, State.CLOSED: 5}.get(state, 2)

    assert expiry(BATCH, state, START + HOUR) == START + HOUR + kept * DAY


@pytest.mark.parametrize(("state", "days"), [(State.OPEN, 398), (State.CLOSED, 398), (State.COMPLETE, 400)])
def test_no_batch_is_kept_for_longer_than_400_days_and_a_live_one_leaves_time_for_its_end(state, days):
    assert expiry(BATCH, state, START + 399 * DAY) == START + days * DAY
    assert BATCH.pages_expire_at == START + 400 * DAY
    assert BATCH.row_expires_at == START + 430 * DAY


def test_activity_extends_a_batch_from_an_eighth_of_its_retention_on():
    eighth = 5 * DAY / 8

    assert extended_expiry(BATCH, START + eighth - TICK) is None
    assert extended_expiry(BATCH, START + eighth) == START + eighth + 5 * DAY
    assert extended_expiry(replace(BATCH, state=State.OPEN), START + 2 * DAY + 3 * DAY / 8 - TICK) is None


def first(state, **facts):
    batch = replace(BATCH, **facts)
    return first_check(batch, state, START, START + 5 * DAY) - START


def test_the_first_check_of_a_batch():
    deadline = {"deadline_at": START + 9 * MINUTE}

    assert first(State.CLOSED) == first(State.OPEN, max_failures=1) == 15 * MINUTE
    assert first(State.OPEN) == first(State.OPEN, max_failure_percent=1) == 5 * DAY
    assert first(State.OPEN, **deadline) == first(State.CLOSED, **deadline) == 9 * MINUTE
    assert first(State.COMPLETE, **deadline) == first(State.EXPIRED) == 15 * MINUTE
    assert first(State.FAILED, parent_item_id="x") == MINUTE
    assert first(State.OPEN, parent_item_id="x") == MINUTE
    assert first(State.CLOSED, parent_item_id="x") == 15 * MINUTE
    assert first(State.OPEN, notify_at=(Threshold.FIRST_FAILURE,)) == 0 * MINUTE
    assert first(State.OPEN, notify_at=(Threshold.HALF,)) == 5 * DAY
    assert first(State.CLOSED, notify_at=(Threshold.HALF,)) == 0 * MINUTE
    assert first(State.CLOSED, stuck_after=8 * MINUTE) == 9 * MINUTE


def following(age, state=State.CLOSED, **facts):
    batch = replace(BATCH, state=state, **facts)
    return next_check(batch, START + age) - START


def test_a_batch_is_checked_less_often_the_older_it_is():
    assert following(MINUTE) == 16 * MINUTE
    assert following(HOUR) == 2 * HOUR
    assert following(6 * HOUR) == 12 * HOUR
    assert following(7 * HOUR) == 13 * HOUR
    assert following(119 * HOUR) == 5 * DAY
    assert following(HOUR, deadline_at=START + 90 * MINUTE) == 90 * MINUTE
    assert following(HOUR, closed_at=START + 30 * MINUTE) == 90 * MINUTE
    assert following(HOUR, closed_at=None) == 2 * HOUR


def test_an_open_batch_is_checked_at_its_end_or_as_a_closed_one_if_failures_may_end_it():
    assert following(HOUR, State.OPEN, closed_at=None) == 5 * DAY
    assert following(HOUR, State.OPEN, closed_at=None, deadline_at=START + DAY) == DAY
    assert following(HOUR, State.OPEN, closed_at=None, max_failures=3) == 2 * HOUR


def test_an_ended_batch_waits_for_the_confirmation_of_its_event():
    ended = {"state": State.COMPLETE, "ended_at": START + HOUR, "deadline_at": START}

    assert following(HOUR, **ended) == HOUR + 15 * MINUTE
    assert following(HOUR + 15 * MINUTE - TICK, **ended) == HOUR + 15 * MINUTE
    assert following(HOUR + 15 * MINUTE, **ended) == HOUR + 30 * MINUTE
    assert following(40 * HOUR, **ended) == 46 * HOUR
    assert following(40 * HOUR, **ended, stuck_after=MINUTE) == 46 * HOUR


def test_a_batch_that_asks_for_thresholds_is_checked_each_minute_and_repaired_at_growing_intervals():
    asks = {"notify_at": (Threshold.HALF,)}

    assert following(HOUR, **asks) == HOUR + 30 * SECOND
    assert following(HOUR, State.OPEN, closed_at=None, **asks) == 5 * DAY
    assert following(10 * SECOND, **asks, deadline_at=START + 20 * SECOND) == 20 * SECOND
    assert following(HOUR, **asks, reported=frozenset({"50"})) == 2 * HOUR
    assert following(15 * MINUTE, **asks, reported=frozenset({"50"})) == 30 * MINUTE
    assert following(14 * MINUTE, **asks, reported=frozenset({"50"})) == 15 * MINUTE
    assert following(0 * MINUTE, State.OPEN, **asks, closed_at=None, max_failures=1) == 15 * MINUTE


@pytest.mark.parametrize(
    ("last", "due"), [(0, 15), (15, 30), (30, 60), (60, 120), (239, 240), (480, 840), (840, 1200)]
)
def test_a_check_for_thresholds_repairs_only_when_a_repair_is_due(last, due):
    batch = replace(STUCK, next_check_at=START + last * MINUTE + TICK)

    assert not needs_repair(batch, START + due * MINUTE - TICK)
    assert needs_repair(batch, START + due * MINUTE)


def test_other_checks_of_a_closed_batch_repair_it():
    late = START + 100 * DAY

    assert needs_repair(BATCH, START)
    assert needs_repair(replace(BATCH, next_check_at=START + HOUR), START)
    assert not needs_repair(replace(BATCH, state=State.OPEN), late)
    assert not needs_repair(replace(STUCK, state=State.OPEN, next_check_at=START), late)
    assert needs_repair(replace(STUCK, next_check_at=None), START)
    assert needs_repair(replace(STUCK, next_check_at=START, max_failures=2, failed=2), START)
    assert needs_repair(replace(STUCK, next_check_at=START, max_failures=2, failed=3), START)
    assert not needs_repair(replace(STUCK, next_check_at=START, max_failures=2, failed=1), START)


def test_a_live_batch_ends_at_its_expiry_or_its_deadline():
    due = replace(BATCH, deadline_at=START + DAY)

    assert ends_at(BATCH) == START + 5 * DAY
    assert ends_at(due) == START + DAY
    assert ends_at(replace(due, state=State.COMPLETE)) == START + 5 * DAY


@pytest.mark.parametrize("to", State)
def test_a_transition_writes_its_end_and_nothing_else(to):
    write = transition(BATCH, to, START + HOUR, "me", "why", by="who")
    after = write.apply(replace(BATCH, state=State.OPEN, closed_at=None))
    expires = START + HOUR + {State.OPEN: 3, State.CLOSED: 5}.get(to, 2) * DAY
    common = {"state": to, "expires_at": expires, "next_check_at": write.next_check_at, "closed_at": None}
    end = {"ended_at": START + HOUR, "end_reason": "why", "ended_by": "who"}
    complete = {"completed_at": START + HOUR, "completed_by": "me"}

    if to is State.CLOSED:
        assert after == replace(BATCH, **common | {"closed_at": START + HOUR})
    else:
        assert after == replace(BATCH, **common, **end, **(complete if to is State.COMPLETE else {}))
    assert write.expected is (to is State.CLOSED)
    assert write.next_check_at == first_check(BATCH, to, START + HOUR, expires)


PAGE = Path(__file__).parents[2] / "docs" / "tracker_reference.md"


def drawn() -> set[tuple[str, str]]:
    diagram = PAGE.read_text().split("```mermaid")[1].split("```")[0]
    return set(re.findall(r"^ +(\w+) --> (\w+)", diagram, re.MULTILINE))


def admitted() -> set[tuple[str, str]]:
    ends = [Transition(to, START, START, START) for to in State if to is not State.OPEN]
    early = Transition(State.FAILED, START, START, START, failures=1)
    enough = Transition(State.COMPLETE, START, START, START, reached=1)
    return {(source.value, change.to.value) for change in (*ends, early, enough) for source in change.sources}


def test_the_diagram_has_every_transition_and_no_other():
    assert drawn() == admitted()
