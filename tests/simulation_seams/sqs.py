"""A standard queue: visibility timeouts, receive counts, duplicates, and a dead-letter queue behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from fanin.isolating import Record

ARN = "arn:aws:sqs:eu-west-1:123456789012:"


@dataclass(eq=False, slots=True)
class Message:
    """A message in a queue. *source*: the ARN of the queue whose dead-letter message it is."""

    id: str
    body: str
    visible_at: datetime
    sent_at: datetime
    receives: int = 0
    source: str | None = None


@dataclass(eq=False)
class Queue:
    """One queue.

    *sent*, *deleted*, *died*: called with each message that is sent, is deleted, goes to *dead_letters*.
    """

    name: str
    random: Random
    now: Callable[[], datetime]
    visibility: timedelta
    max_receives: int | None = None
    dead_letters: Queue | None = None
    sent: Callable[[Message], None] = lambda _: None
    deleted: Callable[[Message], None] = lambda _: None
    died: Callable[[Message], None] = lambda _: None
    messages: dict[str, Message] = field(default_factory=dict)

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry out a request."""
        return getattr(self, name)(*args)

    def send(self, body: str) -> None:
        """Put a new message into the queue."""
        message = Message(f"{self.random.getrandbits(48):012x}", body, self.now(), self.now())
        self.put(message)
        self.sent(message)

    def put(self, message: Message) -> None:
        """Put a message into the queue under the id that it has."""
        self.messages[message.id] = message

    def visible(self) -> list[Message]:
        """Return the messages that can be received."""
        now = self.now()
        return [message for message in self.messages.values() if message.visible_at <= now]

    def receive(self, count: int) -> list[Record]:
        """Return up to *count* messages and hide them; those that were received too often leave the queue."""
        found = self.visible()
        chosen = self.random.sample(found, min(count, len(found)))
        return [self._record(message) for message in chosen if self._taken(message)]

    def again(self, record: Record) -> Record | None:
        """Deliver a message once more although it is hidden, as a standard queue may."""
        message = self.messages.get(record["messageId"])
        return self._record(message) if message is not None and self._taken(message) else None

    def delete(self, message_id: str) -> None:
        """Delete a message, if it is still there."""
        message = self.messages.pop(message_id, None)
        if message is not None:
            self.deleted(message)

    def hide(self, pauses: Mapping[str, int]) -> None:
        """Hide messages, by receipt handle, for some seconds from now."""
        for receipt, seconds in pauses.items():
            if receipt in self.messages:
                self.messages[receipt].visible_at = self.now() + timedelta(seconds=seconds)

    def settle(self, records: Collection[Record], failed: Collection[str]) -> list[str]:
        """Return the ids of a delivery that are to be deleted."""
        return [record["messageId"] for record in records if record["messageId"] not in failed]

    def _taken(self, message: Message) -> bool:
        message.receives += 1
        if self.max_receives is None or message.receives <= self.max_receives:
            message.visible_at = self.now() + self.visibility
            return True
        del self.messages[message.id]
        self.died(message)
        if self.dead_letters is not None:
            copy = Message(message.id, message.body, self.now(), message.sent_at, source=self.arn)
            self.dead_letters.put(copy)
        return False

    @property
    def arn(self) -> str:
        return f"{ARN}{self.name}"

    def _record(self, message: Message) -> Record:
        sent_at = str(int(message.sent_at.timestamp() * 1000))
        attributes = {"ApproximateReceiveCount": str(message.receives), "SentTimestamp": sent_at}
        if message.source:
            attributes["DeadLetterQueueSourceArn"] = message.source
        return {
            "messageId": message.id,
            "receiptHandle": message.id,
            "body": message.body,
            "attributes": attributes,
            "messageAttributes": {},
            "eventSourceARN": self.arn,
        }
