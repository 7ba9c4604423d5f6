"""Concurrent requests, and the pause before a retry."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 2.0
THREADS = 16
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
    """Sleep before attempt ``attempt + 1``: exponential with full jitter, at most two seconds."""
    time.sleep(random.uniform(0, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt)))
