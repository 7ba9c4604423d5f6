"""The dead-letter queues of a local run that hold messages, for the commands that wait for batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fanin.aws.messaging.queue_urls import dead_letter_queue_arns

LOOK_SECONDS = 15.0
"""How long after a look at the queues there is no other one."""


@dataclass(slots=True)
class DeadLetterQueueNotes:
    """Names each dead-letter queue that holds messages, and again when it holds more.

    *sqs*: makes the client of the run's SQS. *option*: of the command that shows which messages are of use.
    """

    sqs: Callable[[], Any]
    option: str = ""
    now: Callable[[], float] = time.monotonic
    _client: Any = None
    _next: float | None = None
    _shown: dict[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield what to show by now; nothing if SQS does not answer."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # it takes 0.3 s

        if self._next is not None and self.now() < self._next:
            return
        self._next = self.now() + LOOK_SECONDS
        with suppress(BotoCoreError, ClientError):
            self._client = self._client or self.sqs()
            for name in names(self._client):
                yield from self._grown(name)

    def _grown(self, name: str) -> Iterator[str]:
        """Yield the line of a queue that holds more messages than were shown; a deleted one has none."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # see lines

        with suppress(BotoCoreError, ClientError):
            count = _count(self._client, name)
            if count > self._shown.get(name, 0):
                yield self._line(name, count)
            self._shown[name] = max(count, self._shown.get(name, 0))

    def _line(self, name: str, count: int) -> str:
        holds = "holds 1 message" if count == 1 else f"holds {count:,} messages"
        return f"the dead-letter queue {name} {holds}; see: fanin redrive {name}{self.option} --dry-run"


def names(sqs: Any) -> list[str]:
    """Return the names of the dead-letter queues."""
    return sorted(arn.rpartition(":")[2] for arn in dead_letter_queue_arns(sqs))


def _count(sqs: Any, name: str) -> int:
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    facts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(facts["Attributes"]["ApproximateNumberOfMessages"])
