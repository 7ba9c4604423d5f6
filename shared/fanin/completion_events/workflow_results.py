"""The result that the Step Functions task or durable callback of a batch gets at its ending event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.tracker.rules.model import State
from fanin.tracker.rules.options import OnFailures

OUTPUT_MAX = 262_144
"""Bytes in UTF-8: SendTaskSuccess of Step Functions, SendDurableExecutionCallbackSuccess of Lambda."""
CAUSE_MAX = 32_768
"""Characters of the cause of a failure: Step Functions API reference, SendTaskFailure."""
COMPLETED_WITH_FAILURES = "completed_with_failures"
ERRORS: Mapping[str, str] = {
    State.CANCELLED: "fanin.Cancelled",
    State.TIMED_OUT: "fanin.TimedOut",
    State.EXPIRED: "fanin.Expired",
}
"""The error of a task by the state of its batch; each other one is ``fanin.Failed``."""
FAILED = "fanin.Failed"

Detail = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of a task: its *output* if it succeeded, else its *error* and the *cause*, both JSON texts."""

    output: str = ""
    error: str = ""
    cause: str = ""


def task_end(state: State, on_failures: OnFailures, detail: Detail) -> TaskEnd:
    """Return the end of the task of a batch that ended in *state* with the event *detail*."""
    failed = detail.get("result") == COMPLETED_WITH_FAILURES and on_failures is OnFailures.FAIL
    if state is State.COMPLETE and not failed:
        return TaskEnd(output=_fitting(detail, OUTPUT_MAX))
    return TaskEnd(error=ERRORS.get(state, FAILED), cause=_fitting(detail, CAUSE_MAX))


def _fitting(detail: Detail, most: int) -> str:
    """Return *detail* as JSON of at most *most* bytes, without the outstanding ranges if they do not fit."""
    text = _json(detail)
    if len(text.encode()) <= most:
        return text
    without = {name: value for name, value in detail.items() if not isinstance(value, list)}
    return _json(without | {"moreRanges": True})


def _json(detail: Detail) -> str:
    return json.dumps(detail, separators=(",", ":"), ensure_ascii=False)
