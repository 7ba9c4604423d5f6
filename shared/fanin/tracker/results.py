"""The port between the tracker and the store of results: what acks write, and what an end fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fanin.errors import InvalidRequest
from fanin.tracker.rules.model import BatchKey


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What the work of an item returned: *text* is one line of JSON."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of an ended batch that count: those before it was written, under its *name* in the store.

    *parts*: their number. *size*: their bytes. A result that came twice is in two parts.
    """

    name: str
    parts: int
    size: int


def result_text(result: Any) -> str | None:
    """Return *result* as an ack has it, one line of JSON; None for None. Raises InvalidRequest."""
    if result is None:
        return None
    try:
        return json.dumps(result, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"a result is a value of JSON: {error}", field="result") from None


class ResultStore(Protocol):
    """Keeps the results of batches. Raises StoreUnavailable if the outcome of a request is unknown."""

    def keep(self, key: BatchKey, results: Sequence[ItemResult]) -> None:
        """Write *results* of items of one batch as a part, before these items are acked."""

    def freeze(self, key: BatchKey) -> Manifest:
        """Fix the parts of an ended batch: the first call decides, and every other returns the same."""

    def delete(self, key: BatchKey) -> bool:
        """Remove a bounded part of what is kept of a batch; return whether nothing is left."""
