"""The effects of a queue: two clocks, ids, threads, and the pause between two attempts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from fanin.errors import StoreUnavailable
from fanin.pacing import Each, each_in_threads, pause

ATTEMPTS = 4
T = TypeVar("T")


def _now() -> int:
    return time.time_ns() // 1000


def _new_id() -> str:
    return str(uuid4())


@dataclass(frozen=True, slots=True)
class Effects:
    """*now*: the wall clock, in microseconds since 1970; *monotonic*: the monotonic clock, in seconds."""

    now: Callable[[], int] = _now
    monotonic: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = _new_id
    pause: Callable[[int], None] = pause
    each: Each = each_in_threads

    def answer_of(self, request: Callable[[], T]) -> T:
        """Return the answer to an idempotent request, sent up to 4 times while it is StoreUnavailable."""
        for attempt in range(ATTEMPTS - 1):
            try:
                return request()
            except StoreUnavailable:
                self.pause(attempt)
        return request()
