"""The texts that end a task of Step Functions, at the last byte that it takes and beyond it."""

from __future__ import annotations

import json

import pytest

from fanin.tracker import State
from fanin.tracker.resuming import TaskEnd, task_end
from fanin.tracker.rules.options import OnFailures

OUTPUT = 262_144
CAUSE = 32_768


def detail_of(size):
    """An event of a complete batch that has *size* bytes as JSON."""
    detail = {"result": "succeeded", "userKey": "", "ranges": [1, 2]}
    bare = '{"result":"succeeded","userKey":"","ranges":[1,2]}'
    return detail | {"userKey": "é" + "k" * (size - len(bare) - 2)}


def text_of(state, size):
    end = task_end(state, OnFailures.SUCCEED, detail_of(size))
    return end.output or end.cause


@pytest.mark.parametrize(("state", "most"), [(State.COMPLETE, OUTPUT), (State.CANCELLED, CAUSE)])
def test_an_event_that_just_fits_keeps_its_ranges(state, most):
    text = text_of(state, most)

    assert len(text.encode()) == most
    assert json.loads(text) == detail_of(most)


@pytest.mark.parametrize(("state", "most"), [(State.COMPLETE, OUTPUT), (State.CANCELLED, CAUSE)])
def test_an_event_of_a_byte_more_says_that_there_are_more_ranges(state, most):
    found = json.loads(text_of(state, most + 1))

    assert found == {"result": "succeeded", "userKey": found["userKey"], "moreRanges": True}


@pytest.mark.parametrize("on_failures", OnFailures)
def test_a_batch_without_failures_ends_its_task_well(on_failures):
    end = task_end(State.COMPLETE, on_failures, {"result": "succeeded", "acked": 2})

    assert end == TaskEnd(output='{"result":"succeeded","acked":2}')
