"""What AWS bills: request units of DynamoDB, and requests by the size of what they carry. Pure.

Each rule is that of the pricing page of its service (``fanin.cost.prices.PAGES``), and for DynamoDB of
"DynamoDB read and write operations" in its Developer Guide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from fanin.cost.sizes import Row, size_of

KIB = 1024
WRITE_STEP, READ_STEP = KIB, 4 * KIB
TRANSACTION = 2
"""How often a read or write of a transaction is billed."""
QUEUE_STEP = EVENT_STEP = 64 * KIB
"""SQS and EventBridge bill each 64 KiB of a request or an event as one."""
API_STEP = 512 * KIB
"""An HTTP API bills each 512 KiB of a request or an answer as one."""


def write_units(before: Row | None, after: Row | None) -> int:
    """Return the units of a write to a table: by the larger of the two images, in steps of 1 KB.

    A write whose condition failed is billed by the larger of the row that is stored and the row that it puts,
    and by one unit without either.
    """
    return max(1, *(ceil(size_of(each or {}) / WRITE_STEP) for each in (before, after)))


def index_units(before: Row | None, after: Row | None, index: Mapping[str, Any]) -> int:
    """Return the units that the write costs in *index*: none if what it has of the row stays the same."""
    old, new = projected(before, index), projected(after, index)
    if old == new:
        return 0
    keys = [each["AttributeName"] for each in index["KeySchema"]]
    moved = old is not None and new is not None and any(old[key] != new[key] for key in keys)
    return (2 if moved else 1) * write_units(old, new)


def projected(row: Row | None, index: Mapping[str, Any]) -> Row | None:
    """Return the attributes of *row* in *index*, or None if the index has none of it."""
    keys = {each["AttributeName"] for each in index["KeySchema"]}
    if row is None or not keys <= row.keys():
        return None
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return row
    return {name: row[name] for name in keys | {"pk", *projection.get("NonKeyAttributes", ())} if name in row}


def read_units(rows: Iterable[Row], consistent: bool) -> float:
    """Return the units of a query that returns *rows*: in steps of 4 KB, half of them if not *consistent*."""
    return max(1, ceil(sum(map(size_of, rows)) / READ_STEP)) * (1 if consistent else 0.5)


def keyed_read_units(rows: Iterable[Row | None], consistent: bool) -> float:
    """Return the units of a read of rows by their keys: each by itself, one that is not stored too."""
    return sum(read_units([row or {}], consistent) for row in rows)


def queue_requests(size: int) -> int:
    """Return the requests of SQS for one that carries *size* bytes of messages."""
    return _steps(size, QUEUE_STEP)


def events(size: int) -> int:
    """Return the events of EventBridge for one of *size* bytes."""
    return _steps(size, EVENT_STEP)


def api_requests(sent: int, answered: int = 0) -> int:
    """Return the requests of an HTTP API for one of *sent* bytes, and *answered* bytes."""
    return max(_steps(sent, API_STEP), _steps(answered, API_STEP))


def gb_seconds(milliseconds: float, megabytes: float) -> float:
    """Return the GB-seconds of one invocation: its time is rounded up to whole milliseconds."""
    return ceil(milliseconds) / 1000 * megabytes / KIB


def _steps(size: int, step: int) -> int:
    return max(1, ceil(size / step))
