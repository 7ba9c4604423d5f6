"""The errors that fanin raises.

FaninError
├── InvalidRequest        the request is invalid
│   ├── AccessDenied      the API refuses the credentials, or there are none
│   ├── NoTarget          the target of a task cannot be computed from its payload
│   ├── TooManyPages      the request writes too many pages; split it
│   └── TooManyBatches    the request names too many batches; split it
├── NotFound              the tenant has no such batch
├── Conflict              the state does not allow the request
│   ├── BatchEnded        the batch has ended otherwise than the request asks
│   ├── KeyReused         the idempotency key was used with another payload
│   ├── StaleWrite        a condition failed; the error has the stored item
│   └── PartFull          a part of a queue holds 10 GB; raise its parts
├── QuotaExceeded         the tenant uses all that a quota of the deployment allows
├── NewerSchema           a row was written by a newer release; upgrade this process
└── StoreUnavailable      throttled or unreachable; the state is unknown, retry

Other errors are bugs, or come from the user's code, and are not caught. ``Failed`` is one that the user's
code raises: its item fails for good.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class _Copied(Exception):
    """An error that another process may raise, whatever arguments its class takes."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: without a call of ``__init__``, which may require more than a text."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[_Copied], args: tuple[Any, ...], facts: Mapping[str, Any]) -> _Copied:
    """Return an error with the same text and attributes as the one that was copied or pickled."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class FaninError(_Copied):
    """The base class; its text is meant for the caller."""


class Failed(_Copied):
    """Raised by the function that works on an item: the item fails for good, without another attempt.

    Its text is the reason of the failure. It may be raised in an ``ExceptionGroup``, as a ``TaskGroup`` does.
    """


class InvalidRequest(FaninError):
    """The request is malformed; *field* names the invalid field, or is None."""

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class AccessDenied(InvalidRequest):
    """The API refuses the credentials of the request, or it has none."""


class NoTarget(InvalidRequest):
    """The payload of a task lacks a field from which its target is computed, or it cannot be part of one."""


class TooManyPages(InvalidRequest):
    """The request writes more pages than one request may; split it."""


class TooManyBatches(InvalidRequest):
    """The request names more batches than one request may; split it."""


class NotFound(FaninError):
    """There is no such batch for this tenant, or it has expired."""


class Conflict(FaninError):
    """The state of the batch does not allow the request; a retry fails too."""


class BatchEnded(Conflict):
    """The batch has ended, and not as the request asks.

    *state*: of the batch *batch_id*: ``COMPLETE``, ``FAILED``, ``CANCELLED`` or ``TIMED_OUT``. *result*:
    ``succeeded``, ``completed_with_failures``, ``enough``, ``too_many_failures``, ``forced``, ``cancelled``
    or ``timed_out``. *reason*: of a cancel or a forced end, if it has one.
    """

    def __init__(
        self, detail: str, *, batch_id: str, state: str, result: str, reason: str | None = None
    ) -> None:
        super().__init__(detail)
        self.batch_id = batch_id
        self.state = state
        self.result = result
        self.reason = reason


class KeyReused(Conflict):
    """The idempotency key was used before, for a request with another payload."""


class StaleWrite(Conflict):
    """A condition failed; *stored* holds the items as they are, one for each written item.

    *failed*: of a transaction, the positions of the writes whose conditions do not hold.
    """

    def __init__(
        self,
        detail: str,
        *,
        stored: tuple[dict[str, Any] | None, ...] = (),
        failed: tuple[int, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.stored = stored
        self.failed = failed


class PartFull(Conflict):
    """A part of a queue holds 10 GB, all that DynamoDB stores of one; more parts take its jobs over."""


class QuotaExceeded(FaninError):
    """The tenant uses all that a quota allows; nothing was done.

    *quota*: its name. *limit*: what it allows, *used*: the present use. *retry_after*: seconds after which a
    repetition can succeed; None where time alone does not help.
    """

    def __init__(
        self, detail: str, *, quota: str, limit: int, used: int, retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.quota = quota
        self.limit = limit
        self.used = used
        self.retry_after = retry_after


class NewerSchema(FaninError):
    """A row has a schema version that this process does not read; nothing was written to it."""


class StoreUnavailable(FaninError):
    """The store was throttled or unreachable: the request may have been applied."""


PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a server beside the API answers no otherwise: the fields of a problem document of RFC 9457.

    *namespace*: of its type.
    """

    status: int
    name: str
    title: str
    detail: str
    namespace: str = "problem"

    def document(self) -> bytes:
        """Return the body of the answer."""
        kind = f"urn:fanin:{self.namespace}:{self.name}"
        known = {"type": kind, "title": self.title, "status": self.status, "detail": self.detail}
        return json.dumps(known).encode()
