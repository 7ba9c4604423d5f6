"""Ends tasks of Step Functions by their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from fanin.aws.calls import send

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
        return self._ended(self.client.send_task_success, {"taskToken": token, "output": output})

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail the task with an *error* to catch and its *cause*."""
        request = {"taskToken": token, "error": error, "cause": cause}
        return self._ended(self.client.send_task_failure, request)

    def _ended(self, operation: Any, request: dict[str, str]) -> bool:
        try:
            send(operation, request)
        except ClientError as error:
            if error.response["Error"]["Code"] not in ENDED:
                raise
            return False
        return True
