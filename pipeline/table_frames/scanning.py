"""Scans the live tables in segments, and makes a row of each item that was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fanin.pacing import Pace
from pipeline.table_frames.export import Line
from pipeline.table_frames.rows import Facts, Item, MalformedRow, read_row
from pipeline.table_frames.tables import Tables

UNIT_BYTES = 8192
"""Bytes that one read unit of an eventually consistent Scan reads."""
LARGEST_ROW = 4096
"""Bytes of the tracker's largest rows: batches with a user key and a parent, and pages."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Segment *number* of *of* segments of *table*; *rate*: read units a second of this segment."""

    tables: Tables
    table: str
    number: int
    of: int
    rate: float | None = None

    def request(self, about: str | None) -> dict[str, Any]:
        """Return the first request; *about*: return only rows of this batch id, although all are read."""
        request: dict[str, Any] = {
            "TableName": self.table,
            "Segment": self.number,
            "TotalSegments": self.of,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self.rate:
            request["Limit"] = max(1, int(self.rate * UNIT_BYTES / LARGEST_ROW))
        if about:
            request["FilterExpression"] = "contains(pk, :about)"
            request["ExpressionAttributeValues"] = {":about": {"S": about}}
        return request


def scan(segment: Segment, about: str | None, sleep: Callable[[float], None] = time.sleep) -> Iterator[Item]:
    """Yield every row of the segment; a row written during the Scan may be old or new."""
    request, pace = segment.request(about), Pace(segment.rate, time.monotonic())
    while True:
        answer = segment.tables.client.scan(**request)
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        pace = pace.after(answer["ConsumedCapacity"]["CapacityUnits"])
        sleep(pace.pause(time.monotonic()))


def location(part: Segment, item: Item) -> str:
    """Return where *item* was read."""
    return f"{part.table} {item.get('pk', {}).get('S')}"


def row_of(line: Line) -> Facts:
    """Return *line* as a row of ROWS, empty for rows beside pages and batches."""
    if line.item is None:
        return {"location": line.location, "problem": line.problem}
    try:
        page, batch = read_row(line.item)
    except MalformedRow as error:
        return {"location": line.location, "problem": str(error)}
    return {"page": page, "batch": batch}
