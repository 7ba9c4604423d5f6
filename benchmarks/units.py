"""Read units and sizes of DynamoDB rows, by its rules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

UNIT_BYTES = 4096


def item_bytes(row: dict[str, Any]) -> int:
    """Return the bytes of a row in DynamoDB JSON: its names and its values."""
    return sum(len(name) + _size(*next(iter(value.items()))) for name, value in row.items())


def query_units(rows: Iterable[dict[str, Any]], *, consistent: bool) -> float:
    """Return the read units of a query that returns *rows*; half of them where it is not *consistent*."""
    units = max(1, math.ceil(sum(map(item_bytes, rows)) / UNIT_BYTES))
    return units if consistent else units / 2


def rows_units(rows: Iterable[dict[str, Any]], *, consistent: bool) -> float:
    """Return the read units of a read of *rows* by their keys: each counts by itself."""
    return sum(query_units([row], consistent=consistent) for row in rows)


def _size(kind: str, held: Any) -> int:
    """Return the bytes of a value: UTF-8 for text, a byte for a boolean, one for two digits and one more."""
    if kind == "S":
        return len(held.encode())
    return (len(held.strip("0")) + 1) // 2 + 1 if kind == "N" else 1
