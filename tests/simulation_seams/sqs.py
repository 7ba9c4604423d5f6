"""A queue: visibility timeouts, receive counts, and a dead-letter queue behind it.

A standard queue delivers some messages twice; a FIFO queue delivers the messages of a group in their order,
and none of a group of which one is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from fanin.isolating import Record
from fanin.local.emulator_patches.lineage import Chain
from tests.simulating.violation import require

ARN = "arn:aws:sqs:eu-west-1:123456789012:"
GROUPS = ("a", "b")


@dataclass(eq=False, slots=True)
class Message:
    """A message in a queue. *source*: the ARN of the queue whose dead-letter message it is.

    *group*: its message group, in a FIFO queue. *chain*: of the requests that led to it, as Lambda counts
    invocations.
    """

    id: str
    body: str
    visible_at: datetime
    sent_at: datetime
    chain: Chain = field(default_factory=Chain)
    receives: int = 0
    source: str | None = None
    group: str | None = None


@dataclass(eq=False)
class Queue:
    """One queue. *loops*: whether the function that it feeds may loop.

    *sent*, *deleted*, *died*, *taken*: called with each message that is sent, is deleted, goes to
    *dead_letter_queue*, is received by a worker.
    """

    name: str
    random: Random
    now: Callable[[], datetime]
    visibility: timedelta
    max_receives: int | None = None
    dead_letter_queue: Queue | None = None
    sent: Callable[[Message], None] = lambda _: None
    deleted: Callable[[Message], None] = lambda _: None
    died: Callable[[Message], None] = lambda _: None
    loops: bool = False
    taken: Callable[[Message], None] = lambda _: None
    messages: dict[str, Message] = field(default_factory=dict)
    in_order: bool = False

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry out a request."""
        return getattr(self, name)(*args)

    def send(self, body: str, chain: Chain) -> None:
        """Put a new message into the queue."""
        message = Message(f"{self.random.getrandbits(48):012x}", body, self.now(), self.now(), chain)
        message.group = self.random.choice(GROUPS) if self.in_order else None
        self.put(message)
        self.sent(message)

    def put(self, message: Message) -> None:
        """Put a message into the queue under the id that it has."""
        self.messages[message.id] = message

    def visible(self) -> list[Message]:
        """Return the messages that can be received."""
        if not self.messages:
            return []
        now = self.now()
        found = [each for each in self.messages.values() if each.visible_at <= now]
        if not self.in_order:
            return found
        hidden = {each.group for each in self.messages.values() if each.visible_at > now} - {None}
        return [each for each in found if each.group not in hidden]

    def visible_later(self) -> list[datetime]:
        """Return when the hidden messages are visible again."""
        now = self.now()
        return [each.visible_at for each in self.messages.values() if each.visible_at > now]

    def receive(self, count: int) -> list[Record]:
        """Return up to *count* messages and hide them; those that were received too often leave the queue."""
        found = self.visible()
        chosen = found[:count] if self.in_order else self.random.sample(found, min(count, len(found)))
        return [self._record(message) for message in chosen if self._taken(message)]

    def take(self, count: int, visibility: int, copied: bool) -> list[Record]:
        """Return up to *count* messages to a worker, with a receipt handle of this receive.

        *copied*: also one that is hidden.
        """
        found = self.visible()
        chosen = found[:count] if self.in_order else self.random.sample(found, min(count, len(found)))
        hidden = [each for each in self.messages.values() if each not in found]
        if copied and hidden and not self.in_order:
            chosen.append(self.random.choice(hidden))
        records = []
        for message in chosen:
            self.taken(message)
            if self._taken(message):
                message.visible_at = self.now() + timedelta(seconds=visibility)
                records.append({**self._record(message), "receiptHandle": self.receipt(message)})
        return records

    def drop(self, receipts: Collection[str]) -> list[str]:
        """Delete messages; the receipt handle of an earlier receive deletes nothing, and is not refused."""
        for message in [each for each in self.messages.values() if self.receipt(each) in receipts]:
            self.delete(message.id)
        return []

    def keep(self, receipts: Collection[str], seconds: int) -> list[str]:
        """Hide messages for *seconds* from now; return the receipt handles of others that have them."""
        held = {self.receipt(each): each for each in self.messages.values() if each.visible_at > self.now()}
        for receipt in held.keys() & set(receipts):
            held[receipt].visible_at = self.now() + timedelta(seconds=seconds)
        return [receipt for receipt in receipts if receipt not in held]

    @staticmethod
    def receipt(message: Message) -> str:
        """Return the receipt handle of the latest receive of a message."""
        return f"{message.id}#{message.receives}"

    def again(self, record: Record) -> Record | None:
        """Deliver a message once more although it is hidden, as a standard queue may."""
        message = None if self.in_order else self.messages.get(record["messageId"])
        return self._record(message) if message is not None and self._taken(message) else None

    def chain_of(self, records: Collection[Record]) -> Chain | None:
        """Return the chain of what a delivery sends; None if Lambda drops it, as one of a recursive loop."""
        messages = [self.messages.get(record["messageId"]) for record in records]
        chain = Chain.of_messages(message.chain for message in messages if message is not None)
        return None if chain.is_loop(self.name) and not self.loops else chain.with_invocation(self.name)

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
        if self.dead_letter_queue is not None:
            copy = Message(
                message.id, message.body, self.now(), message.sent_at, message.chain, source=self.arn
            )
            self.dead_letter_queue.put(copy)
        return False

    @property
    def arn(self) -> str:
        return f"{ARN}{self.name}.fifo" if self.in_order else f"{ARN}{self.name}"

    def _record(self, message: Message) -> Record:
        sent_at = str(int(message.sent_at.timestamp() * 1000))
        attributes = {"ApproximateReceiveCount": str(message.receives), "SentTimestamp": sent_at}
        if message.group is not None:
            attributes |= {"MessageGroupId": message.group, "SequenceNumber": "1"}
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


def group_of(record: Record) -> str:
    """Return the message group of a record; all of a standard queue have one."""
    return str(record["attributes"].get("MessageGroupId", ""))


def require_in_order(records: Sequence[Record], failed: Collection[str]) -> None:
    """O: in a FIFO queue, the messages behind one that returns in their group return."""
    stopped: set[str] = set()
    for record in (each for each in records if each["eventSourceARN"].endswith(".fifo")):
        if record["messageId"] in failed:
            stopped.add(group_of(record))
        require(
            record["messageId"] in failed or group_of(record) not in stopped,
            "order",
            lambda record=record: f"{record} is deleted behind a message of its group that returns",
        )
