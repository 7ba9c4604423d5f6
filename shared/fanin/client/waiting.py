"""Waits for the end of a batch, and watches its progress, by polling."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fanin.arguments import Seconds, seconds_of
from fanin.client.timer import REAL, Timer
from fanin.client.transports.batch_names import checked_name
from fanin.errors import StoreUnavailable
from fanin.tracker.rules.model import ALIVE

if TYPE_CHECKING:
    from fanin.client.model import Status
    from fanin.client.transports.slot import TransportSlot
    from fanin.client.transports.transport import Transport

T = TypeVar("T")
logger = logging.getLogger("fanin")

FIRST_SECONDS = 0.25
GROWTH = 1.5
JITTER = 0.2
"""The share of a pause that chance adds, so that processes that began together do not poll together."""
FAILURES_MAX = 8
"""Looks in a row without an answer, after which StoreUnavailable is raised."""


def pauses(timer: Timer) -> Iterator[float]:
    """Yield the seconds between looks: 0.25, each 1.5 times the one before, to 5; chance adds up to a fifth.

    These are at most 18 looks in the first minute, and 12 in any later one; the timeout adds a last one.
    """
    seconds = FIRST_SECONDS
    while True:
        yield seconds * (1 + JITTER * timer.chance())
        seconds = min(seconds * GROWTH, timer.longest_seconds)


class Pacing:
    """When one call looks at its batch again, and when it stops. *timeout*: in seconds; None for no limit."""

    def __init__(self, batch: str, timeout: float | None, timer: Timer) -> None:
        self._batch, self._timeout, self.timer = batch, timeout, timer
        self._until = math.inf if timeout is None else timer.monotonic() + timeout
        self._pauses = pauses(timer)
        self._failures = 0
        self.asked: float | None = None

    def pause(self) -> float:
        """Return the seconds until the next look, as *asked* by the API, the last of which is at the timeout.

        Raises TimeoutError after that one.
        """
        seconds_left = self._until - self.timer.monotonic()
        if seconds_left <= 0:
            raise TimeoutError(f"batch {self._batch} has not ended within {self._timeout:g} s")
        seconds = next(self._pauses)
        if self.asked is not None:
            seconds = self.asked * (1 + JITTER * self.timer.chance())
        return min(seconds, seconds_left)

    def answered(self) -> None:
        """Record a look that was answered."""
        self._failures = 0

    def failed(self, error: StoreUnavailable) -> None:
        """Record a look without an answer; raise *error* if too many in a row had none."""
        self._failures += 1
        if self._failures == FAILURES_MAX:
            raise error
        logger.warning("batch %s could not be read and is read again: %s", self._batch, error)


def looks(look: Callable[[], T], pacing: Pacing) -> Iterator[T]:
    """Yield what *look* returns, again and again; the reader stops at the end of the batch."""
    while True:
        try:
            found = look()
        except StoreUnavailable as error:
            pacing.failed(error)
        else:
            pacing.answered()
            yield found
        pacing.timer.sleep(pacing.pause())


async def async_looks(look: Callable[[], Awaitable[T]], pacing: Pacing) -> AsyncGenerator[T, None]:
    """Yield as :func:`looks` does, for asyncio."""
    while True:
        try:
            found = await look()
        except StoreUnavailable as error:
            pacing.failed(error)
        else:
            pacing.answered()
            yield found
        await pacing.timer.asleep(pacing.pause())


def is_ended(status: Status) -> bool:
    """Return whether the batch has ended, in whatever way."""
    return status.state not in ALIVE


class Waiting:
    """Waits for the ends of batches."""

    _transport: Transport
    _slot: TransportSlot

    def _id_of(self, name: str) -> str:
        raise NotImplementedError  # the client knows the names

    def wait(self, batch: str, timeout: Seconds | None = None) -> Status:
        """Return the status of a batch, by its id or its user key, once it has ended, in whatever way.

        Polls every 0.25 s at first and every 5 s later. Raises the builtin TimeoutError after *timeout*
        (seconds, or a timedelta), NotFound if there is no such batch or it has expired, and StoreUnavailable
        after 8 looks in a row without an answer.
        """
        pacing = self._pacing(batch, timeout)
        batch_id = next(looks(partial(self._id_of, batch), pacing))
        for state in looks(partial(self._transport.poll, batch_id), pacing):
            if state not in ALIVE:
                break
        return next(looks(partial(self._transport.get, batch_id), pacing))

    def watch(self, batch: str, timeout: Seconds | None = None) -> Iterator[Status]:
        """Yield the status of the batch now and whenever it is found changed; the last one is its end.

        Polls and raises as :meth:`wait` does.
        """
        return self._watched(batch, self._pacing(batch, timeout))

    def _watched(self, batch: str, pacing: Pacing) -> Iterator[Status]:
        batch_id = next(looks(partial(self._id_of, batch), pacing))
        yield from _changes(looks(partial(self._transport.get, batch_id), pacing))

    def _pacing(self, batch: str, timeout: Seconds | None) -> Pacing:
        """Return the pacing of one call, whose arguments it checks."""
        checked_name(batch)
        limit = None if timeout is None else seconds_of(timeout, "timeout")
        return Pacing(batch, limit, REAL if self._slot.lent is None else self._slot.lent.timer)


def _changes(found: Iterator[Status]) -> Iterator[Status]:
    """Yield each status that differs from the one before, to the end of the batch."""
    seen: Status | None = None
    for status in found:
        if status != seen:
            yield status
        if is_ended(status):
            return
        seen = status
