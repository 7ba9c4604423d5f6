"""The request that ends a task stays within the limits of Step Functions."""

from __future__ import annotations

import json

import pytest

from fanin.tracker import State
from fanin.tracker.resuming import CAUSE_MAX, OUTPUT_MAX, task_end
from fanin.tracker.rules.model import ALIVE
from fanin.tracker.rules.options import OnFailures

RANGE = {"groupId": "0" * 36, "from": 1, "to": 2}
LARGEST = {
    "result": "completed_with_failures",
    "userKey": "\\" * 256,
    "reason": '"' * 512,
    "labels": {f"{number}{'🎈' * 63}": "🎈" * 256 for number in range(10)},
}


def test_a_cause_is_the_event_as_json():
    end = task_end(State.CANCELLED, OnFailures.SUCCEED, {"result": "cancelled", "ranges": [RANGE]})

    assert json.loads(end.cause) == {"result": "cancelled", "ranges": [RANGE]}
    assert (end.error, end.output) == ("fanin.Cancelled", "")


@pytest.mark.parametrize("ranges", [0, 100, 10_000])
def test_no_event_is_too_long_for_a_cause_or_an_output(ranges):
    detail = {**LARGEST, "ranges": [RANGE] * ranges}
    ended = task_end(State.COMPLETE, OnFailures.SUCCEED, detail)
    failed = task_end(State.COMPLETE, OnFailures.FAIL, detail)

    assert len(ended.output.encode()) <= OUTPUT_MAX
    assert len(failed.cause) <= CAUSE_MAX
    assert json.loads(failed.cause)["labels"] == LARGEST["labels"]
    assert ("ranges" in json.loads(ended.output)) is (ranges <= 100)
    assert json.loads(failed.cause).get("moreRanges", ranges <= 100)


@pytest.mark.parametrize("state", [state for state in State if state not in (*ALIVE, State.COMPLETE)])
@pytest.mark.parametrize("on_failures", OnFailures)
def test_every_other_end_fails_the_task(state, on_failures):
    end = task_end(state, on_failures, {"result": state.lower()})

    assert end.error == "fanin." + "".join(part.capitalize() for part in state.split("_"))
