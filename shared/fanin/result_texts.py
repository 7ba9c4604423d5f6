"""The result of an item as text: one line of JSON in ASCII, as acks, rows and files have it."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

from fanin.errors import InvalidRequest

DEPTH_MAX = 100
"""Levels of a result: its readers of any language have to parse what they did not write."""
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
RESULT_MAX = 65_536
"""Bytes of the result of an item, as JSON."""


def result_text(result: Any) -> str | None:
    """Return *result* as an ack has it, one line of JSON; None for None. Raises InvalidRequest."""
    if result is None:
        return None
    try:
        text = json.dumps(result, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"a result is a value of JSON: {error}", field="result") from None
    if _depth(text) > DEPTH_MAX:
        raise InvalidRequest(f"a result has at most {DEPTH_MAX} levels of lists and objects", field="result")
    return text


def _depth(text: str) -> int:
    """Return the levels of lists and objects in *text*; at most that many brackets are opened in it."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return 0
    steps = (1 if mark in "[{" else -1 for mark in STRING.sub("", text) if mark in "[]{}")
    return max(accumulate(steps), default=0)
