"""Estimates the read and write units of acking folded logs before they are written. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanin.cost.dollars import price
from fanin.cost.prices import READ_UNIT, WRITE_UNIT

PLAIN_PAGE_WRITES = 3
FAILING_PAGE_WRITES = 8
"""The most write units of a page of folded acks: the page, its bit in its parent, its compaction.

A page with failures may be twice as large, and is written in one transaction with their count.
"""


@dataclass(frozen=True, slots=True)
class AckEstimate:
    """Units of acking folded logs: each page is read, and written if it lacks any bit; at most *writes*."""

    reads: int
    writes: int

    def facts(self) -> dict[str, Any]:
        """Return the fields of the event ``estimate``."""
        dollars = self.reads * READ_UNIT + self.writes * WRITE_UNIT
        return {
            "reads": self.reads,
            "mostWrites": self.writes,
            "mostDollars": round(dollars, 4),
            "price": price(dollars),
        }


def estimate_acks(pages: int, failing: int) -> AckEstimate:
    """Return the estimate for *pages* pages, *failing* of which have failures."""
    return AckEstimate(pages, PLAIN_PAGE_WRITES * (pages - failing) + FAILING_PAGE_WRITES * failing)
