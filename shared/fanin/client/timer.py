"""The effects of a wait: a clock, sleep, and chance."""

from __future__ import annotations

import random
import time

from fanin.client.http_bodies.exchange import exchange_here

LONGEST_SECONDS = 5.0


class Timer:
    """The effects of waiting: a monotonic clock in seconds, sleep, and chance; and the longest pause."""

    longest_seconds = LONGEST_SECONDS

    def monotonic(self) -> float:
        return time.monotonic()

    def chance(self) -> float:
        """Return a random number in [0, 1)."""
        return random.random()

    def sleep(self, seconds: float) -> None:
        """Sleep; in the call of a coroutine, its event loop goes on."""
        exchange = exchange_here()
        (time if exchange is None else exchange).sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Sleep, for asyncio."""
        import asyncio  # noqa: PLC0415  # its import takes 0.1 s

        await asyncio.sleep(seconds)


REAL = Timer()
