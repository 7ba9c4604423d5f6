"""The result of an item as text: one line of JSON in ASCII, as acks, rows and files have it."""

from __future__ import annotations

import json
from typing import Any

from fanin.errors import InvalidRequest

RESULT_MAX = 65_536
"""Bytes of the result of an item, as JSON."""


def result_text(result: Any) -> str | None:
    """Return *result* as an ack has it, one line of JSON; None for None. Raises InvalidRequest."""
    if result is None:
        return None
    try:
        return json.dumps(result, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"a result is a value of JSON: {error}", field="result") from None
