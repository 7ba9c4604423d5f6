"""What the queue takes from the world: two clocks, ids, threads, and the pause between two attempts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import uuid4

from fanin.errors import StoreUnavailable

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.01
THREADS = 16
A = TypeVar("A")
T = TypeVar("T")


class Each(Protocol):
    """Calls something for each of several values; the answers in the order of the values."""

    def __call__(self, call: Callable[[A], T], values: Sequence[A]) -> list[T]: ...


def each_in_threads(call: Callable[[A], T], values: Sequence[A]) -> list[T]:
    """Several at once, for requests that do not depend on each other."""
    if len(values) < 2:
        return [call(value) for value in values]
    with ThreadPoolExecutor(min(THREADS, len(values))) as pool:
        return list(pool.map(call, values))


def _now() -> int:
    return time.time_ns() // 1000


def _new_id() -> str:
    return str(uuid4())


def pause(attempt: int) -> None:
    """Wait a jittered moment before attempt ``attempt + 1``; two seconds at most."""
    time.sleep(random.uniform(0, min(2.0, FIRST_PAUSE_SECONDS * 2**attempt)))


@dataclass(frozen=True, slots=True)
class Effects:
    """*now*: microseconds since 1970 by the wall; *monotonic*: seconds that never jump."""

    now: Callable[[], int] = _now
    monotonic: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = _new_id
    pause: Callable[[int], None] = pause
    each: Each = each_in_threads

    def insist(self, request: Callable[[], T]) -> T:
        """The answer to a request that may be sent again, after a few silences at most."""
        for attempt in range(ATTEMPTS - 1):
            try:
                return request()
            except StoreUnavailable:
                self.pause(attempt)
        return request()
