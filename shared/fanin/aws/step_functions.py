"""Ends tasks of Step Functions by their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanin.aws.calls import has_effect

ENDED = frozenset({"InvalidToken", "TaskDoesNotExist", "TaskTimedOut"})
"""The codes for a task that no request can end: it has ended or timed out, or the token was never issued."""


@dataclass(frozen=True, slots=True)
class StepFunctions:
    """Ends tasks through *client*. Each call may be repeated: a task ends once.

    Both return False for a task that had ended before, and raise StoreUnavailable if the result is unknown.
    """

    client: Any

    def succeed(self, token: str, output: str) -> bool:
        """End the task with the JSON text *output*."""
        return has_effect(self.client.send_task_success, {"taskToken": token, "output": output}, ENDED)

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail the task with an *error* to catch and its *cause*."""
        request = {"taskToken": token, "error": error, "cause": cause}
        return has_effect(self.client.send_task_failure, request, ENDED)
