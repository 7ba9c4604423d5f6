"""What the adapters of a chord and a flow share: both are sent whole, and a run of a message acks it."""

# ruff: noqa: ARG002 - the suite gives more than they take
from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from fanin_conformance import Adapter, Added, Answer, Completion, Group, NotSupported, Status
from lab.conforming.counters import batch_of, refuse_options


@dataclass
class Sent:
    """A batch as its program has it. *items*: their ids; the chord or flow is sent at the close."""

    user_key: str | None
    items: list[str] = field(default_factory=list)
    is_sent: bool = False
    ends: int = 0
    unreported: list[Completion] = field(default_factory=list)


class Whole(Adapter):
    """A tracker whose items are messages, all of which are known when it is sent."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.batches: dict[str, Sent] = {}
        self.taking = threading.Lock()

    def open(self, *, user_key: str | None = None, token: str | None = None, **options: object) -> str:
        refuse_options(options)
        if token is not None:
            raise NotSupported("an open under a key")
        batch = str(uuid4())
        self.batches[batch] = Sent(user_key)
        return batch

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        if token is not None or self._of(batch).is_sent or count < 1:
            raise NotSupported("an add: it is sent whole, by one call")
        items, group = self.batches[batch].items, uuid4().hex
        items += [self.item_id(batch, group, at) for at in range(count)]
        return Added((Group(group, count),))

    def close(self, batch: str, token: str | None = None) -> Answer:
        sent = self._of(batch)
        if sent.is_sent:
            return Answer()  # nothing is sent again
        self.send(batch, sent)
        sent.is_sent = True
        return self.ended([batch])

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        self.run(items)
        return self.ended(items)

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        self.run(items)

    def fail(self, items: Sequence[str], reason: str) -> Answer:
        self.run(items, fails=True)
        return self.ended(items)

    def status(self, batch: str) -> Status:
        sent = self._of(batch)
        if not sent.is_sent:
            raise NotSupported("a batch that is not sent")
        self.take()
        is_complete = sent.ends > 0
        return Status(True, is_complete, is_complete, sent.user_key, len(sent.items))

    def run(self, items: Sequence[str], *, fails: bool = False) -> None:
        """Do what a worker does with the message of each item, or does again with one that comes again."""
        for item in items:
            sent = self._of(batch_of(item))
            if not sent.is_sent:
                raise NotSupported("an ack before it is sent whole")
            if item not in sent.items:
                raise NotSupported("an ack by an id: a message is acked by its own run")
        for item in items:
            self.work(item, fails)

    def ended(self, items: Sequence[str]) -> Answer:
        """Return the ends of the batches of *items* whose messages have come since the last call."""
        self.take()
        completions: list[Completion] = []
        with self.taking:
            for sent in map(self._of, {batch_of(item) for item in items}):
                completions += sent.unreported
                sent.unreported = []
        return Answer(tuple(completions))

    def take(self) -> None:
        """Take the messages of ends from their queue; one is for the batch that it names."""
        with self.taking:
            for batch, succeeded in self.ends():
                sent = self.batches[batch]
                sent.ends += 1
                sent.unreported.append(Completion(batch, succeeded=succeeded, user_key=sent.user_key))

    def _of(self, batch: str) -> Sent:
        if batch not in self.batches:
            raise NotSupported("an id that was not sent")
        return self.batches[batch]

    @abstractmethod
    def send(self, batch: str, sent: Sent) -> None:
        """Send all messages, and let the workers take them."""

    @abstractmethod
    def work(self, item: str, fails: bool) -> None:
        """Run the message of an item as a worker does."""

    @abstractmethod
    def ends(self) -> Sequence[tuple[str, bool]]:
        """Take the messages of ends: the batch, and whether all succeeded."""
