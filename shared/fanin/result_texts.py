"""Values of users as one line of JSON: the results of items, in ASCII, and the payloads of jobs."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

from fanin.errors import InvalidRequest

DEPTH_MAX = 100
"""Levels of a value: its readers of any language have to parse what they did not write."""
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
RESULT_MAX = 65_536
"""Bytes of the result of an item, as JSON."""


def result_text(result: Any) -> str | None:
    """Return *result* as an ack has it, one line of JSON; None for None. Raises InvalidRequest."""
    return None if result is None else json_text(result, "result", in_ascii=True)


def json_text(value: Any, name: str, *, in_ascii: bool = False) -> str:
    """Return *value* as one line of JSON. Raises InvalidRequest; *name*: what the value is."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise InvalidRequest(
            f"a {name} is a value of JSON, not bytes: pass text, such as base64.b64encode(data).decode()",
            field=name,
        )
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=in_ascii)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"a {name} is a value of JSON: {error}", field=name) from None
    if _depth(text) > DEPTH_MAX:
        raise InvalidRequest(f"a {name} has at most {DEPTH_MAX} levels of lists and objects", field=name)
    return text


def _depth(text: str) -> int:
    """Return the levels of lists and objects in *text*; at most that many brackets are opened in it."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return 0
    steps = (1 if mark in "[{" else -1 for mark in STRING.sub("", text) if mark in "[]{}")
    return max(accumulate(steps), default=0)
