"""How requests follow each other: several at once, and a pause before one is sent again."""

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
    """Calls something for each of several values; the answers in the order of the values."""

    def __call__(self, call: Callable[[A], T], values: Sequence[A]) -> list[T]: ...


def each_in_turn(call: Callable[[A], T], values: Sequence[A]) -> list[T]:
    """One after another."""
    return [call(value) for value in values]


def each_in_threads(call: Callable[[A], T], values: Sequence[A]) -> list[T]:
    """Several at once, for requests that do not depend on each other."""
    if len(values) < 2:
        return each_in_turn(call, values)
    with ThreadPoolExecutor(min(THREADS, len(values))) as pool:
        return list(pool.map(call, values))


def pause(attempt: int) -> None:
    """Wait a jittered moment before attempt ``attempt + 1``; two seconds at most."""
    time.sleep(random.uniform(0, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt)))
