"""Concurrent requests, rate limits, and the pauses before a retry."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 2.0
THREADS = 16
ATTEMPTS = 8
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
"""How often a refused request of a job is sent, and the bounds in seconds of the pause after each attempt."""
A = TypeVar("A")
T = TypeVar("T")


class Each(Protocol):
    """Calls a function for each of several values and returns the results in their order."""

    def __call__(self, call: Callable[[A], T], values: Sequence[A]) -> list[T]: ...


def each_in_turn(call: Callable[[A], T], values: Sequence[A]) -> list[T]:
    """Call *call* for one value after another."""
    return [call(value) for value in values]


def each_in_threads(call: Callable[[A], T], values: Sequence[A]) -> list[T]:
    """Call *call* for up to 16 values at once; the calls must be independent."""
    if len(values) < 2:
        return each_in_turn(call, values)
    with ThreadPoolExecutor(min(THREADS, len(values))) as pool:
        return list(pool.map(call, values))


def pause(attempt: int) -> None:
    """Sleep before attempt ``attempt + 1``."""
    time.sleep(pause_seconds(attempt))


def pause_seconds(attempt: int) -> float:
    """Return the seconds before attempt ``attempt + 1``: exponential with full jitter, at most two."""
    return random.uniform(0, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt))


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits a sender to *rate* (messages, units) a second since *started*, by the monotonic clock."""

    rate: float | None
    started: float
    sent: float = 0

    def after(self, count: float) -> Pace:
        """Return the pace after *count* more are sent."""
        return Pace(self.rate, self.started, self.sent + count)

    def pause(self, now: float) -> float:
        """Return the seconds to wait before the next one is sent."""
        return max(0.0, self.started + self.sent / self.rate - now) if self.rate else 0.0


def waits(chance: random.Random) -> Iterator[float]:
    """Yield the seconds to pause after each attempt: random, up to a bound that doubles."""
    for attempt in range(ATTEMPTS):
        yield chance.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))
