"""Every error that fanin raises on purpose.

FaninError
├── InvalidRequest        the caller can fix it
│   ├── TooManyPages      it asks for more than one request may do; ask in parts
│   └── TooManyBatches    the same, of batches
├── NotFound              no such batch, for this tenant
├── Conflict              a rule said no
│   ├── KeyReused         the idempotency key came before, with another payload
│   └── StaleWrite        somebody wrote first; the item as it is stored comes along
└── StoreUnavailable      throttled or unreachable; the state is unknown, ask again

An error of another kind is a bug or somebody else's, and passes through untouched.
"""

from __future__ import annotations

from typing import Any


class FaninError(Exception):
    """The root of the tree; its text is fit for the caller to read."""


class InvalidRequest(FaninError):
    """The request is malformed; *field* names the part to mend, where there is one."""

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class TooManyPages(InvalidRequest):
    """The request touches more pages than one may; the same in smaller requests is fine."""


class TooManyBatches(InvalidRequest):
    """The request names more batches than one may; the same in smaller requests is fine."""


class NotFound(FaninError):
    """There is no such batch for this tenant, or it has expired."""


class Conflict(FaninError):
    """A rule of the batch refuses the request; asking again will not help."""


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


class StoreUnavailable(FaninError):
    """The store was throttled or out of reach: the request may or may not have been applied."""
