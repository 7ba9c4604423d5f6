"""Consumer of ending events for whose batches a task or a durable callback waits: ends it."""

from collections import Counter
from functools import partial
from typing import Any

from fanin import names
from fanin.api.bus_events.workflow_callbacks import Resumed, WaitingTasks, resume
from fanin.aws import clients
from fanin.aws.durable_callbacks import DurableCallbacks
from fanin.aws.step_functions import StepFunctions
from fanin.grouper.use_cases.consuming import consume
from fanin.tracker.rules.options import TokenKind
from functions.invocation_metrics.measuring import count, measured
from functions.wiring import tracking

LAST_MS = 10_000
"""Milliseconds reserved for the last event."""


def _tasks(kind: TokenKind) -> WaitingTasks:
    """Return what ends the tasks with a *kind* of token."""
    if kind is TokenKind.CALLBACK:
        return DurableCallbacks(clients.callbacks())
    return StepFunctions(clients.workflows())


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    end = partial(resume, tracker=tracking.tracker(), tasks=_tasks)
    consumed = consume(event["Records"], end, lambda: context.get_remaining_time_in_millis() > LAST_MS)
    became = Counter(consumed.answers)
    count(
        {
            names.TASKS_RESUMED: became[Resumed.NOW],
            names.TASKS_ENDED_BEFORE: became[Resumed.BEFORE],
            names.RESUMES_RETURNED: len(consumed.failed),
        }
    )
    return consumed.response()
