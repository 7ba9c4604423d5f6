"""The rate at which a batch is worked on, and when it will be done at that rate. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

WINDOW_SECONDS = 30.0
SHORTEST_SECONDS = 1.0
"""No rate is shown of a shorter time: it would jump."""
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(slots=True)
class Rate:
    """The mean rate of the last 30 seconds, from what was done at several times."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def see(self, at: float, acked: int) -> None:
        """Note that *acked* items were acked at a time in seconds, which never goes back."""
        self._seen.append((at, acked))
        while len(self._seen) > 2 and self._seen[1][0] <= at - WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def a_second(self) -> float | None:
        """Items a second, or None if too little was seen; an estimate that goes down is no work."""
        if len(self._seen) < 2:
            return None
        (start, before), (end, after) = self._seen[0], self._seen[-1]
        if end - start < SHORTEST_SECONDS:
            return None
        return max(0.0, (after - before) / (end - start))


def seconds_left(total: int, acked: int, rate: float | None, is_final: bool) -> float | None:
    """Return when all will be done; None while the total may grow, and where nothing is being done."""
    if not is_final or not rate:
        return None
    return max(0, total - acked) / rate


def rate_text(rate: float) -> str:
    """Return a rate as ``312/s``, small ones as ``0.3/s``."""
    return f"{rate:,.0f}/s" if rate >= 10 or rate == 0 else f"{max(rate, 0.1):.1f}/s"


def duration_text(seconds: float) -> str:
    """Return a duration in its two largest units, such as ``2 h 5 min``."""
    remaining, parts = max(1, round(seconds)), []
    for size, unit in UNITS:
        count, remaining = divmod(remaining, size)
        if count:
            parts.append(f"{count:,} {unit}")
        if parts and (len(parts) == 2 or not count):
            break
    return " ".join(parts)
