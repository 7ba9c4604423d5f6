"""Ends callbacks of durable functions of Lambda by their ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanin.aws.calls import has_effect
from fanin.errors import StoreUnavailable

ENDED = frozenset({"CallbackTimeoutException", "InvalidParameterValueException", "ResourceNotFoundException"})
"""The codes for a callback that no request can end: it has ended or timed out, or the id was never issued."""


@dataclass(frozen=True, slots=True)
class DurableCallbacks:
    """Ends callbacks through *client*, of Lambda. Each call may be repeated: a callback ends once.

    Both return False for a callback that had ended before, and raise StoreUnavailable if the result is
    unknown.
    """

    client: Any

    def succeed(self, token: str, output: str) -> bool:
        """End the callback with the JSON text *output*."""
        return _ended(
            self.client.send_durable_execution_callback_success,
            {"CallbackId": token, "Result": output.encode()},
        )

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail the callback with an *error* and its *cause*.

        The message is the error too, because the type is lost when the SDK replays the error.
        """
        fields = {"ErrorType": error, "ErrorMessage": error, "ErrorData": cause}
        return _ended(
            self.client.send_durable_execution_callback_failure, {"CallbackId": token, "Error": fields}
        )


def _ended(operation: Callable[..., Any], request: dict[str, Any]) -> bool:
    try:
        return has_effect(operation, request, ENDED)
    except StoreUnavailable as error:
        # Without its cause: botocore's errors name the URL of a request, and it has the id of the callback.
        raise StoreUnavailable(str(error)) from None
