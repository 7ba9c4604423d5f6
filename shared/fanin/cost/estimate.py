"""Estimates the requests, write units and price of a fan-out before it runs. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fanin.cost.dollars import price
from fanin.cost.fan_out import BATCH, ENVELOPE_BYTES, fan_out, messages_of
from fanin.cost.prices import READ_UNIT, SQS_REQUEST, WRITE_UNIT

__all__ = ["ENVELOPE_BYTES", "SENTENCE", "Estimate", "estimate"]

SENTENCE = "{messages:,} messages: {requests:,} SQS requests, {writes} write units, {price} at list price"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and units: *least_writes* if ten neighbours are acked together, *most_writes* if each alone.

    A chunk is acked as a whole, so both are the same; *reads*: those of the acks of long chunks.
    """

    messages: int
    requests: int
    least_writes: int
    most_writes: int
    reads: int = 0

    @property
    def dollars(self) -> tuple[float, float]:
        """Return the least and the most it costs, without functions and API calls."""
        fixed = self.requests * SQS_REQUEST + self.reads * READ_UNIT
        return fixed + self.least_writes * WRITE_UNIT, fixed + self.most_writes * WRITE_UNIT

    def facts(self) -> dict[str, Any]:
        """Return the fields of `SENTENCE`."""
        least, most = self.dollars
        bounds = dict.fromkeys((f"{self.least_writes:,}", f"{self.most_writes:,}"))
        dollars = {
            "leastDollars": round(least, 4),
            "mostDollars": round(most, 4),
            "price": price(least, most),
            "writes": " to ".join(bounds),
        }
        return {**asdict(self), **dollars}


def estimate(items: int, size: int, chunk: int = 1) -> Estimate:
    """Return the estimate for *items* whose records are *size* bytes of JSON in total, *chunk* a message."""
    most = fan_out(items, size, chunk).units
    least = fan_out(items, size, chunk, together=BATCH).units if chunk == 1 else most
    return Estimate(
        messages_of(items, size, chunk),
        int(most["queue_request"]),
        int(least["write_unit"]),
        int(most["write_unit"]),
        int(most["read_unit"]),
    )
