"""The port that wakes a waiting consumer: a ring names a part in which there may be work.

A ring is a hint. One that is lost, late or heard twice costs time or a look into an empty part, and
nothing else.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fanin.queue.model import Ring


class Doorbell(Protocol):
    """What a doorbell offers to one queue."""

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        """Ring, *delay* seconds from now at the earliest."""

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        """The first 1 to *most* rings; none after so many seconds of silence."""

    def heard(self, rings: Sequence[Ring]) -> None:
        """Forget rings that were followed; one that is not forgotten may ring again."""


@dataclass
class MemoryDoorbell:
    """A doorbell inside this process."""

    rings: deque[tuple[float, Ring]] = field(default_factory=deque)
    rung: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        with self.rung:
            self.rings.extend((time.monotonic() + delay, ring) for ring in rings)
            self.rung.notify_all()

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        until = time.monotonic() + seconds
        with self.rung:
            while not (found := self._ripe(most)):
                now = time.monotonic()
                next_ring = min((at for at, _ in self.rings), default=until)
                if now >= until:
                    return ()
                self.rung.wait(max(0.001, min(until, next_ring) - now))
            return found

    def heard(self, rings: Sequence[Ring]) -> None:
        """A ring is gone here when it is given out."""

    def _ripe(self, most: int) -> list[Ring]:
        now = time.monotonic()
        ripe = [entry for entry in self.rings if entry[0] <= now][:most]
        for entry in ripe:
            self.rings.remove(entry)
        return [ring for _, ring in ripe]
