"""Rate limits and retry pauses of one task, for SQS and DynamoDB. Pure.

Random numbers and the time come in as arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ATTEMPTS = 8
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
"""How often a refused request is sent, and the bounds in seconds of the pause after each attempt."""

Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits one task to *rate* (messages, units) a second since *started*, a time of the monotonic clock."""

    rate: float | None
    started: float
    sent: float = 0

    def after(self, count: float) -> Pace:
        """Return the pace after *count* more are sent."""
        return Pace(self.rate, self.started, self.sent + count)

    def rest(self, now: float) -> float:
        """Return the seconds to wait before the next one is sent."""
        return max(0.0, self.started + self.sent / self.rate - now) if self.rate else 0.0


def waits(chance: random.Random) -> Iterator[float]:
    """Yield the seconds to pause after each attempt: random, up to a bound that doubles."""
    for attempt in range(ATTEMPTS):
        yield chance.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))
