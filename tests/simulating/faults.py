"""What can go wrong with one request to the store, each fault described by what it does."""

from __future__ import annotations

from dataclasses import dataclass


class Crash(BaseException):
    """The process of an actor dies; whatever it was working on is delivered again."""


@dataclass(frozen=True, slots=True)
class Fault:
    """*applied*: the store carries the request out. *again*: the client silently sends it once more.

    *copied*: a copy of it stays behind in the network and lands later. *answered*: the caller gets the
    answer; otherwise it is told that the store is out of reach, or dies where *crash* is set.
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
