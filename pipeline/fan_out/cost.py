"""Estimates the requests, write units and price of a fan-out before it runs. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from fanin.cost.prices import SQS_REQUEST, WRITE_UNIT
from pipeline.fan_out.messages import PAGE_ITEMS
from pipeline.spark.format import price

BATCH = 10
CHUNK_BYTES = 64 * 1024
ENVELOPE_BYTES = 140
"""Bytes of a message beside its record: item id, time, names."""

SENTENCE = (
    "{messages:,} messages: {requests:,} SQS requests, {least_writes:,} to {most_writes:,} write units,"
    " {price} at list price"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and write units: *least* if ten neighbours are acked together, *most* if each alone."""

    messages: int
    requests: int
    least_writes: int
    most_writes: int

    @property
    def dollars(self) -> tuple[float, float]:
        """Return the least and the most it costs, without functions and API calls."""
        queue = self.requests * SQS_REQUEST
        return queue + self.least_writes * WRITE_UNIT, queue + self.most_writes * WRITE_UNIT

    def facts(self) -> dict[str, Any]:
        """Return the fields of `SENTENCE`."""
        least, most = self.dollars
        dollars = {
            "leastDollars": round(least, 4),
            "mostDollars": round(most, 4),
            "price": price(least, most),
        }
        return {**asdict(self), **dollars}


def estimate(items: int, size: int) -> Estimate:
    """Return the estimate for *items* messages whose records are *size* bytes of JSON in total."""
    batches = ceil(items / BATCH)
    # SQS bills each 64 KiB of a request, sent or received: a batch of long records counts more than once.
    payload = size + items * ENVELOPE_BYTES
    moved = max(batches, ceil(payload / CHUNK_BYTES))
    # A full page climbs (its bit in its parent) and is compacted.
    pages = 2 * ceil(items / PAGE_ITEMS)
    return Estimate(items, 2 * moved + batches, batches + pages, items + pages)
