"""The sizes of rows of DynamoDB, by which it bills and limits them. Pure.

By "Item sizes and formats" in the DynamoDB Developer Guide. A row is that of the low-level API: names with
typed values.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

Row = Mapping[str, Any]


def size_of(row: Row) -> int:
    """Return the bytes of *row*: names and values."""
    return sum(len(name.encode()) + _value(value) for name, value in row.items())


def _value(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    return _SIZES.get(kind, lambda _: 1)(content)


def _bytes(content: bytes | str) -> int:
    """Return the bytes of a binary value, which is base64 in a request or an answer."""
    return len(b64decode(content) if isinstance(content, str) else content)


def _number(content: str) -> int:
    """Return the bytes of a number: one, and one for each two significant digits."""
    return ceil(len(content.lstrip("-").replace(".", "").strip("0")) / 2) + 1


_SIZES: Mapping[str, Callable[[Any], int]] = {
    "S": lambda content: len(content.encode()),
    "B": _bytes,
    "N": _number,
    "SS": lambda content: sum(len(each.encode()) for each in content),
    "NS": lambda content: sum(map(_number, content)),
    "BS": lambda content: sum(map(_bytes, content)),
    "M": lambda content: 3 + len(content) + size_of(content),
    "L": lambda content: 3 + len(content) + sum(map(_value, content)),
}
"""The bytes of a value by its type; all others have one."""
