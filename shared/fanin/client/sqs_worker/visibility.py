"""The visibility timeouts of a worker: messages in flight stay hidden, or the worker has lost them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fanin.client.sqs_worker.messages import HIDDEN_MAX_SECONDS, RECEIVED_MAX, Message, Source
from fanin.errors import StoreUnavailable

logger = logging.getLogger("fanin")

EXTENDED_BELOW = 0.6
"""A message is hidden for longer once less than this part of its visibility timeout is left."""
LOOKS = 4
"""Looks at the messages in flight during a visibility timeout."""


def clock() -> float:
    """Return the seconds of a clock that goes on while the machine sleeps, if it has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True)
class Leases:
    """Hides messages of *source* for *visibility* seconds, again and again.

    None: for the visibility timeout of the queue, once, as Lambda does, which deletes a message at any time.
    """

    source: Source
    visibility: int | None
    now: Callable[[], float] = clock

    def hidden(self, wait: int) -> int | None:
        """Return for how long a receive of *wait* seconds hides a message, which may come at its end."""
        return None if self.visibility is None else self.visibility + wait

    def extend(self, held: Sequence[Message]) -> list[Message]:
        """Hide those of *held* for longer that need it; return the messages that are lost from now on."""
        now = self.now()
        lost = [message for message in held if message.until <= now]
        below = now + EXTENDED_BELOW * (self.visibility or 0)
        for part in parts_of([each for each in held if now < each.until <= below]):
            lost += self._extended(part)
        for message in lost:
            message.is_lost = True
        return lost

    def release(self, messages: Sequence[Message]) -> None:
        """Make messages visible again at once; one that is not hidden by this worker any more is left."""
        now = self.now()
        for part in parts_of([each for each in messages if now < each.until and not each.is_lost]):
            try:
                self.source.hide([each.receipt for each in part], 0)
            except StoreUnavailable as error:
                logger.warning("%d messages return when their time is over: %s", len(part), error)

    def _extended(self, part: Sequence[Message]) -> list[Message]:
        """Hide up to ten messages for longer; return those that SQS refuses to hide."""
        now = self.now()
        longest = min(each.received_at for each in part) + HIDDEN_MAX_SECONDS - now
        seconds = int(min(self.visibility or 0, longest))
        if seconds <= 0:
            return []
        try:
            refused = self.source.hide([each.receipt for each in part], seconds)
        except StoreUnavailable as error:
            logger.warning("%d messages are not hidden for longer yet: %s", len(part), error)
            return []
        for message in part:
            message.until = max(message.until, now + seconds)
        return [each for each in part if each.receipt in refused]


def parts_of(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield the messages of each request about several of them."""
    for first in range(0, len(messages), RECEIVED_MAX):
        yield messages[first : first + RECEIVED_MAX]
