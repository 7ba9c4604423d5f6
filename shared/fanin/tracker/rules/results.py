"""The results of items: what an ack brings, and what the end of their batch fixes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest


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
