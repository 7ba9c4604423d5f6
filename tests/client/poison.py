"""An SQS queue as its consumers see it: receives are counted, and a killed delivery returns as a whole."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:work"
A_DELIVERY = 10


@dataclass
class Message:
    body: Any
    message_id: str
    receives: int = 0

    def record(self) -> dict[str, Any]:
        return {
            "messageId": self.message_id,
            "body": self.body,
            "attributes": {"ApproximateReceiveCount": str(self.receives)},
            "eventSourceARN": QUEUE,
        }


class QueueModel:
    """A queue with a dead-letter queue; each delivery holds up to ten messages, taken at random."""

    def __init__(self, bodies: Iterable[Any], max_receives: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.max_receives = max_receives
        self.messages = [Message(body, f"{self.random.getrandbits(128):032x}") for body in bodies]
        self.dead: list[Any] = []

    def receive(self) -> list[dict[str, Any]]:
        """Return the records of the next delivery; none if the queue is empty."""
        self.dead += [each.body for each in self.messages if each.receives >= self.max_receives]
        self.messages = [each for each in self.messages if each.receives < self.max_receives]
        taken = self.random.sample(self.messages, min(A_DELIVERY, len(self.messages)))
        for message in taken:
            message.receives += 1
        return [message.record() for message in taken]

    def settle(self, records: Sequence[dict[str, Any]], failed: Collection[str] | None) -> None:
        """Delete the messages of *records* but the *failed* ones; delete none if the function was killed."""
        if failed is not None:
            deleted = {record["messageId"] for record in records} - set(failed)
            self.messages = [each for each in self.messages if each.message_id not in deleted]
