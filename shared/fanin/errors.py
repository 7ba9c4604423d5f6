"""The exceptions that fanin raises.

FaninError
├── InvalidRequest        the request is malformed or out of bounds
│   ├── TooManyPages      it touches too many pages; send smaller requests
│   └── TooManyBatches    it names too many batches; send smaller requests
├── NotFound              this tenant has no such batch
├── Conflict              a rule of the batch refuses the request
│   ├── KeyReused         the idempotency key was used with another payload
│   └── StaleWrite        a condition failed; the error has the stored item
└── StoreUnavailable      throttled or unreachable; the result is unknown: repeat the request

An error of another kind is a bug, or comes from another library, and is not converted.
"""

from __future__ import annotations

from typing import Any


class FaninError(Exception):
    """The base of all errors; its text is written for the caller."""


class InvalidRequest(FaninError):
    """The request is malformed; *field* names the field to correct, if there is one."""

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class TooManyPages(InvalidRequest):
    """The request touches more pages than one request may; send it in smaller requests."""


class TooManyBatches(InvalidRequest):
    """The request names more batches than one request may; send it in smaller requests."""


class NotFound(FaninError):
    """There is no such batch for this tenant, or it has expired."""


class Conflict(FaninError):
    """A rule of the batch refuses the request; repeating it does not help."""


class KeyReused(Conflict):
    """The idempotency key was used before, for a request with another payload."""


class StaleWrite(Conflict):
    """A condition failed; *stored* has the stored items, one for each written item.

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


class StoreUnavailable(FaninError):
    """The store was throttled or unreachable: the request may or may not have been applied."""
