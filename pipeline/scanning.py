"""Reads one segment of a parallel Scan, at a rate, to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.rows import Item
from pipeline.sinks import Pace
from pipeline.tables import Tables

UNIT_BYTES = 8192
"""What a read unit takes of a Scan that is eventually consistent."""
LARGEST_ROW = 4096
"""Bytes of the largest of the tracker's rows: those with a user key and a parent, and pages."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One of *of* parts of *table*; *rate*: read units a second, of this segment alone."""

    tables: Tables
    table: str
    number: int
    of: int
    rate: float | None = None

    def request(self, about: str | None) -> dict[str, Any]:
        """The first Scan; *about*: only rows of the batch with this id come back, though all are read."""
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
    """Every row of the segment; a row that is written meanwhile may come as it was or as it is."""
    request, pace = segment.request(about), Pace(segment.rate, time.monotonic())
    while True:
        answer = segment.tables.client.scan(**request)
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        pace = pace.after(answer["ConsumedCapacity"]["CapacityUnits"])
        sleep(pace.rest(time.monotonic()))
