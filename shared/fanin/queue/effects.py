"""What the queue takes from the world: two clocks, ids, threads, and the pause between two attempts."""

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
