"""A completion is reported by the process that decided it, and ends its task within the limits."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.completion_events.workflow_results import TaskEnd, task_end
from fanin.tracker import State
from fanin.tracker.announcing import is_decided
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import ALIVE
from fanin.tracker.rules.options import OnFailures
from tests.tracker.calls import START
from tests.tracker.stored import BATCH, TICK

COMPLETE = replace(BATCH, state=State.COMPLETE, completed_at=START, completed_by="me")


@pytest.mark.parametrize(
    ("since", "is_own"),
    [
        (-TICK, False),
        (0 * TICK, True),
        (999 * TICK, True),
        (1000 * TICK, False),  # the next millisecond, which a later request has
        (timedelta(hours=1), False),
    ],
    ids=str,
)
def test_a_completion_is_decided_within_the_millisecond_that_is_stored(since, is_own):
    change = transition(BATCH, State.COMPLETE, START + since, caller="me")

    assert is_decided(COMPLETE, change) is is_own


@pytest.mark.parametrize(
    ("stored", "to", "caller"),
    [
        pytest.param(COMPLETE, State.COMPLETE, "other", id="of another caller"),
        pytest.param(COMPLETE, State.FAILED, "me", id="to another state"),
        pytest.param(BATCH, State.COMPLETE, "me", id="refused, of a batch that is live"),
        pytest.param(BATCH, State.FAILED, "me", id="refused, and to another state"),
    ],
)
def test_any_other_transition_decides_no_completion(stored, to, caller):
    assert is_decided(stored, transition(BATCH, to, START, caller=caller)) is False


OUTPUT = 262_144
CAUSE = 32_768


def detail_of(size):
    """An event that has *size* bytes as JSON."""
    detail = {"result": "succeeded", "userKey": "", "ranges": [1, 2]}
    bare = '{"result":"succeeded","userKey":"","ranges":[1,2]}'

    return detail | {"userKey": "é" + "k" * (size - len(bare) - 2)}


@pytest.mark.parametrize(("state", "most"), [(State.COMPLETE, OUTPUT), (State.CANCELLED, CAUSE)])
def test_an_event_that_just_fits_keeps_its_ranges_and_a_longer_one_says_that_there_are_more(state, most):
    ends = [task_end(state, OnFailures.SUCCEED, detail_of(size)) for size in (most, most + 1)]
    fits, longer = (end.output or end.cause for end in ends)

    assert (len(fits.encode()), json.loads(fits)) == (most, detail_of(most))
    found = json.loads(longer)
    assert found == {"result": "succeeded", "userKey": found["userKey"], "moreRanges": True}


@pytest.mark.parametrize("on_failures", OnFailures)
def test_a_batch_without_failures_ends_its_task_with_success(on_failures):
    end = task_end(State.COMPLETE, on_failures, {"result": "succeeded", "acked": 2})

    assert end == TaskEnd(output='{"result":"succeeded","acked":2}')


@pytest.mark.parametrize("state", [state for state in State if state not in ALIVE])
@pytest.mark.parametrize("on_failures", OnFailures)
def test_every_other_end_fails_the_task_unless_failures_count_as_success(state, on_failures):
    result = "completed_with_failures" if state is State.COMPLETE else state.lower()
    end = task_end(state, on_failures, {"result": result})

    if state is State.COMPLETE and on_failures is OnFailures.SUCCEED:
        assert (end.error, json.loads(end.output)) == ("", {"result": result})
    else:
        error = "Failed" if state is State.COMPLETE else state.title().replace("_", "")
        assert (end.error, json.loads(end.cause)) == (f"fanin.{error}", {"result": result})
