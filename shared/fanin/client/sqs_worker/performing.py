"""Work by a consumer: each message by itself, and the acks of all that have been worked on together."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.client.consuming.consumer import Consumer
from fanin.client.consuming.settling import Tally, Worked
from fanin.client.consuming.steps import take, take_in_task
from fanin.client.sqs_worker.messages import Message
from fanin.client.sqs_worker.visibility import clock

UNLIMITED_MILLISECONDS = 10**12


@dataclass(eq=False, slots=True)
class TimeLeft:
    """The time that a worker has left: no limit until it stops. As the context of a Lambda invocation."""

    until: float = math.inf
    now: Callable[[], float] = clock

    def get_remaining_time_in_millis(self) -> int:
        remaining_ms = 1000 * (self.until - self.now())
        return UNLIMITED_MILLISECONDS if math.isinf(remaining_ms) else max(0, int(remaining_ms))


@dataclass(frozen=True, slots=True)
class ConsumerPerformer:
    """Works by *consumer*, whose handle may be a coroutine function."""

    consumer: Consumer

    def perform(self, messages: Sequence[Message]) -> list[tuple[Worked, Tally]]:
        return [self._worked(message) for message in messages]

    async def perform_in_task(self, message: Message) -> Any:
        with message.calls.here():
            return await take_in_task(self.consumer.work_alone(message.record))

    def settle(self, messages: Sequence[Message]) -> Collection[str]:
        return set(self.consumer.settle_together([message.outcome for message in messages]).failed)

    def _worked(self, message: Message) -> tuple[Worked, Tally]:
        with message.calls.here():
            return take(self.consumer.work_alone(message.record))
