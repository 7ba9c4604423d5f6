"""What can go wrong with one request, each fault described by what it does, and how a run draws them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from random import Random


class Crash(BaseException):
    """The process of an actor crashes; what it was working on is delivered again."""


@dataclass(frozen=True, slots=True)
class Fault:
    """*applied*: the store carries the request out. *again*: the client sends it once more.

    *copied*: a copy of it stays behind in the network and lands later. *answered*: the caller gets the
    answer; otherwise it gets StoreUnavailable, or crashes if *crash* is set.
    """

    name: str
    applied: bool
    answered: bool = False
    again: bool = False
    copied: bool = False
    crash: bool = False


THROTTLED = Fault("throttled", applied=False)
LOST = Fault("lost before", applied=False)
UNANSWERED = Fault("lost after", applied=True)
REPEATED = Fault("repeated", applied=True, answered=True, again=True)
LATE = Fault("late copy", applied=True, answered=True, copied=True)
STALLED = Fault("stalled", applied=False, copied=True)
CRASH_BEFORE = Fault("crash before", applied=False, crash=True)
CRASH_AFTER = Fault("crash after", applied=True, crash=True)
CONFLICT = Fault("conflict", applied=False)

ON_READS = (THROTTLED, LOST, CRASH_BEFORE, CRASH_AFTER)
ON_WRITES = (*ON_READS, UNANSWERED, REPEATED, LATE, STALLED)
ON_TRANSACTIONS = (*ON_WRITES, CONFLICT)
ON_CALLS = (LOST, CRASH_BEFORE, CRASH_AFTER)
"""Of a request whose client repeats nothing."""
PAUSED = "paused"
"""How an actor or process that stops for a while is counted."""
JUMPED = "clock set"
"""How a clock that goes on from another moment is counted."""


@dataclass
class Faults:
    """Draws the faults of a run: *rate* a request, of these *kinds*, *remaining* of them, and *crashes*."""

    random: Random
    rate: float
    remaining: int
    kinds: Collection[Fault]
    crashes: float = inf

    def draw(self, possible: Sequence[Fault]) -> Fault | None:
        """Return one of the *possible* faults of a request, None if it meets none."""
        if self.remaining <= 0 or self.random.random() >= self.rate:
            return None
        kinds = [fault for fault in possible if fault in self.kinds]
        fault = self.random.choice(kinds) if kinds else None
        if fault is None or (fault.crash and self.crashes <= 0):
            return None
        self.remaining -= 1
        self.crashes -= fault.crash
        return fault
