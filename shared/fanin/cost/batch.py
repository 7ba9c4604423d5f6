"""Estimates what a batch has cost so far, from its counts: its rows do not say how it was acked. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from fanin.cost.bill import Bill, Usage
from fanin.cost.fan_out import BATCH, acks

TABLES, QUEUE, API = "tables", "acks queue", "API"
LIFECYCLE = Usage({"write_unit": 40, "read_unit": 8, "event": 1})
"""At most for open, one add, close, completion and the ending event; a batch's row is in four indexes."""
FAILURE = Usage({"write_unit": 7, "read_unit": 1})
"""Of a failed item that is acked alone: a transaction on its page and the batch's row, and its reason."""


@dataclass(frozen=True, slots=True)
class Way:
    """How acks arrive: at the tables, by the acks queue or by the API. *together*: neighbours in each.

    A message of the acks queue has one item, and is sent, received and deleted with up to nine others.
    """

    by: str
    together: int

    def usage(self, acked: int, failed: int) -> Usage:
        """Return the units of *acked* items, *failed* of which have failed, each alone, without functions.

        *acked* may be an estimate, and so below *failed*, which is a count.
        """
        acked = max(acked, failed)
        succeeded = acked - failed
        writes = ceil(succeeded / self.together)
        carried = {
            TABLES: Usage(),
            QUEUE: Usage({"queue_request": 3 * ceil(acked / min(self.together, BATCH))}),
            API: Usage({"api_request": writes + failed}),
        }
        return acks(succeeded, writes) + FAILURE.times(failed) + carried[self.by] + LIFECYCLE


WAYS = (
    *(Way(TABLES, together) for together in (1, 10, 64, 1024)),
    *(Way(QUEUE, together) for together in (1, 10, 100)),
    *(Way(API, together) for together in (1, 100, 1024)),
)


def batch_costs(acked: int, failed: int) -> list[dict[str, Any]]:
    """Return a row for each of ``WAYS``: what *acked* items, *failed* of them, cost if they were acked so."""
    return [_row(way, Bill(way.usage(acked, failed))) for way in WAYS]


def _row(way: Way, bill: Bill) -> dict[str, Any]:
    units = bill.usage.units
    return {
        "acksArrive": way.by,
        "together": way.together,
        "writeUnits": units["write_unit"],
        "readUnits": units["read_unit"],
        "requests": units.get("queue_request", 0) + units.get("api_request", 0),
        "dollars": round(bill.dollars, 6),
    }
