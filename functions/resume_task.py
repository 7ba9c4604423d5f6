"""Consumer of ending events for whose batches a Step Functions task waits: ends the task."""

from collections import Counter
from functools import partial
from typing import Any

from fanin import names
from fanin.api.events.step_functions import Resumed, resume
from fanin.aws import clients
from fanin.aws.sending.step_functions import StepFunctions
from fanin.grouper.use_cases.consuming import consume
from functions.metrics.measuring import count, measured
from functions.wiring import tracking

LAST_MS = 10_000
"""Milliseconds reserved for the last event."""


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    end = partial(resume, tracker=tracking.tracker(), tasks=StepFunctions(clients.workflows()))
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
