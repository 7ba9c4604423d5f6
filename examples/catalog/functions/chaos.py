"""Failures on purpose, deterministic for a seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum


class Fault(Enum):
    """Where the work on a message fails."""

    NONE = "none"
    BEFORE_WORK = "before the work"
    BEFORE_ACK = "after the work, before the ack"


@dataclass(frozen=True, slots=True)
class Chaos:
    """Fails the first receive of *percent* of the items, chosen by *seed*."""

    seed: str
    percent: int

    def fault(self, item_id: str, receives: int) -> Fault:
        """Return the fault of the item's *receives*-th receive."""
        chosen = int.from_bytes(hashlib.sha256(f"{self.seed}:{item_id}".encode()).digest()[:8], "big")
        if receives > 1 or chosen % 100 >= self.percent:
            return Fault.NONE
        return Fault.BEFORE_ACK if chosen >> 63 else Fault.BEFORE_WORK
