"""The port that wakes waiting workers: a ring names a part that may hold work.

A ring is a hint. A ring that is lost, late or received twice costs time or one read of an empty part.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from fanin.queue.rules.model import Ring


class Doorbell(Protocol):
    """The doorbell of one queue. Raises DoorbellMissing where it does not exist."""

    def at(self, url: str | None) -> Self:
        """Return the doorbell at *url*, which the config of its queue has."""

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        """Send rings, which arrive after *delay* seconds at the earliest."""

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        """Return the first 1 to *most* rings; none after *seconds* without a ring."""

    def pause(self, seconds: float) -> None:
        """Wait for *seconds* without receiving rings."""

    def delete(self, rings: Sequence[Ring]) -> None:
        """Delete received rings; a ring that is not deleted may arrive again."""


@dataclass
class MemoryDoorbell:
    """A doorbell inside this process."""

    rings: deque[tuple[float, Ring]] = field(default_factory=deque)
    rung: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def at(self, url: str | None) -> Self:  # noqa: ARG002  # it has no URL
        return self

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        with self.rung:
            self.rings.extend((time.monotonic() + delay, ring) for ring in rings)
            self.rung.notify_all()

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        until = time.monotonic() + seconds
        with self.rung:
            while not (found := self._due(most)):
                now = time.monotonic()
                next_due = min((at for at, _ in self.rings), default=until)
                if now >= until:
                    return ()
                self.rung.wait(max(0.001, min(until, next_due) - now))
            return found

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def delete(self, rings: Sequence[Ring]) -> None:
        """Do nothing: ``wait`` has removed the rings."""

    def _due(self, most: int) -> list[Ring]:
        now = time.monotonic()
        due = [entry for entry in self.rings if entry[0] <= now][:most]
        for entry in due:
            self.rings.remove(entry)
        return [ring for _, ring in due]
