"""A clock that only a test moves, and what happens at the times that it passes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from fanin.client.timer import Timer

Due = Callable[[], datetime | None]


class FakeClock(Timer):
    """Stands still until a test advances it; a wait advances it, too, and so takes no time.

    *due*: returns the time of the next event, None if there is none. *happen*: lets happen what is due.
    """

    longest_seconds = 60.0
    """A wait that nothing ends reaches the expiry of its batch in a moment."""

    def __init__(self, at: datetime, due: Due, happen: Callable[[], None]) -> None:
        self.started_at = at
        self._passed = timedelta(0)
        self._due, self._happen = due, happen
        self._lock = threading.RLock()

    def now(self) -> datetime:
        """Return the time, which is aware."""
        return self.started_at + self._passed

    def advance(self, by: timedelta = timedelta(0), **units: float) -> datetime:
        """Move the clock and return its time: ``advance(hours=7)``, or *by* a timedelta.

        The sweeps between the two times take place, each at its time.
        """
        with self._lock:
            until = self.now() + by + timedelta(**units)
            if until < self.now():
                raise ValueError("a clock is moved forward only")
            self._pass_events(until)
            self._passed = until - self.started_at
            self._happen()
            return until

    def _pass_events(self, until: datetime) -> None:
        """Let each event until then happen at its own time."""
        before: datetime | None = None
        while (at := self._due()) is not None and before != at <= until:
            self._passed = max(self._passed, at - self.started_at)
            self._happen()
            before = at

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    def chance(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.advance(seconds=seconds)

    async def asleep(self, seconds: float) -> None:
        import asyncio  # noqa: PLC0415  # its import takes 0.1 s

        self.advance(seconds=seconds)
        await asyncio.sleep(0)
