"""What a fan-out asks of AWS, before it is run. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from pipeline.transforms import PAGE_ITEMS
from pipeline.wording import price

BATCH = 10
CHUNK_BYTES = 64 * 1024
ENVELOPE_BYTES = 140
"""The message around a record: item id, time, names."""

SQS_REQUEST = 0.40 / 1e6
WRITE_UNIT = 0.625 / 1e6
"""US dollars, list prices of us-east-1, standard queue and on-demand table, free tier not counted."""

SENTENCE = (
    "{messages:,} messages: {requests:,} SQS requests, {least_writes:,} to {most_writes:,} write units,"
    " {price} at list price"
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and write units: *least* where ten neighbours are acked together, *most* where each alone."""

    messages: int
    requests: int
    least_writes: int
    most_writes: int

    @property
    def dollars(self) -> tuple[float, float]:
        """The least and the most it costs; functions and the API's calls are not in it."""
        queue = self.requests * SQS_REQUEST
        return queue + self.least_writes * WRITE_UNIT, queue + self.most_writes * WRITE_UNIT

    def facts(self) -> dict[str, Any]:
        """What `SENTENCE` says."""
        least, most = self.dollars
        dollars = {
            "leastDollars": round(least, 4),
            "mostDollars": round(most, 4),
            "price": price(least, most),
        }
        return {**asdict(self), **dollars}


def estimate(items: int, size: int) -> Estimate:
    """The estimate for *items* messages whose records take *size* bytes of JSON in all."""
    batches = ceil(items / BATCH)
    # A request is billed by the 64 KiB, sent or received: a batch of long records counts more than once.
    payload = size + items * ENVELOPE_BYTES
    moved = max(batches, ceil(payload / CHUNK_BYTES))
    # A full page climbs (its bit in its parent) and is compacted.
    pages = 2 * ceil(items / PAGE_ITEMS)
    return Estimate(items, 2 * moved + batches, batches + pages, items + pages)


READ_UNIT = 0.125 / 1e6
PLAIN_PAGE_WRITES = 3
FAILING_PAGE_WRITES = 8
"""Write units of a page of folded acks, at the most: itself, its bit in its parent, its compaction.

Where it has failures it may be twice as large, and goes in a transaction with their count.
"""


@dataclass(frozen=True, slots=True)
class AckEstimate:
    """Units of marking folded acks: each page is read, and written where it lacks any; at most *writes*."""

    reads: int
    writes: int

    def facts(self) -> dict[str, Any]:
        dollars = self.reads * READ_UNIT + self.writes * WRITE_UNIT
        told = {"mostDollars": round(dollars, 4), "price": price(dollars)}
        return {"reads": self.reads, "mostWrites": self.writes, **told}


def estimate_acks(pages: int, failing: int) -> AckEstimate:
    """The estimate for *pages* pages, *failing* of them with failures."""
    return AckEstimate(pages, PLAIN_PAGE_WRITES * (pages - failing) + FAILING_PAGE_WRITES * failing)
