"""Ends the Step Functions task or the durable callback that waits for a batch, at its ending event."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from fanin.api.bus_events.ending_events import batch_of_event
from fanin.completion_events.workflow_results import TaskEnd, task_end
from fanin.errors import InvalidRequest
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.rules.options import TokenKind

SETTINGS = {
    TokenKind.TASK: ("state machine", "resumed_state_machines"),
    TokenKind.CALLBACK: ("durable function", "resumed_durable_functions"),
}
"""What waits with a kind of token, and the setting that names those that the stack may resume."""


class Resumed(StrEnum):
    """The outcome of an event: its task was ended, had ended before, or no task waits for its batch."""

    NOW = "now"
    BEFORE = "before"
    NOTHING = "nothing"


class WaitingTasks(Protocol):
    """Ends tasks by their tokens; False for a task that had ended before. Raises StoreUnavailable."""

    def succeed(self, token: str, output: str) -> bool: ...

    def fail(self, token: str, error: str, cause: str) -> bool: ...


def resumable(request: OpenBatch, resumes: Callable[[TokenKind], bool]) -> OpenBatch:
    """Return *request*. Raises InvalidRequest for a token of a kind that the stack does not resume."""
    token = request.token
    if token is not None and not resumes(token.kind):
        waiting, setting = SETTINGS[token.kind]
        raise InvalidRequest(
            f"this stack resumes no {waiting}: name yours in its setting {setting}, or give it to"
            " resumes() of its construct",
            field=token.kind,
        )
    return request


def resume(message: str, tracker: Tracker, tasks: Callable[[TokenKind], WaitingTasks]) -> Resumed:
    """End the task of the batch in *message*, an ending event as a rule delivers it. May be repeated.

    The token is dropped after the task has ended. A crash in between leaves a token that no longer ends
    anything, so the task is resumed once.
    """
    detail = json.loads(message)["detail"]
    batch = batch_of_event(detail, tracker)
    token = tracker.store.task_token(batch.key) if batch is not None else None
    if batch is None or token is None:
        return Resumed.NOTHING
    ended = _end(tasks(token.kind), token.text, task_end(batch.state, token.on_failures, detail))
    tracker.store.drop_token(batch.key)
    return Resumed.NOW if ended else Resumed.BEFORE


def _end(tasks: WaitingTasks, token: str, end: TaskEnd) -> bool:
    if end.error:
        return tasks.fail(token, end.error, end.cause)
    return tasks.succeed(token, end.output)
