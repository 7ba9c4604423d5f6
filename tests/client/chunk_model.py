"""Chunks under every placement of a few disturbances: the production consumer and tracker, a queue like SQS.

The undisturbed run works on every item, acks, and deletes the messages. A disturbance is one deviation at
one decision: the work of an item raises, the process is killed at any request or item, a request is lost
before or after it was applied, the time ends, a deletion is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from fanin import Fanin, StoreUnavailable
from fanin.client.consuming.chunks import ChunkItem
from fanin.client.consuming.each import EachConsumer
from fanin.client.items import Items
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.reports import AckReport
from fanin.tracker import Ack, Outcome, State, Tracker
from fanin.tracker.memory import MemoryStore

ITEMS, CHUNK, PAGE = 6, 4, 4
ROUNDS = 12
Disturbances = dict[int, int]
"""Which deviation is taken, by the number of the decision."""


class Killed(BaseException):
    """The process ends here."""


class Broken(BaseException):
    """A promise was broken; no handler swallows it."""


@dataclass
class Script:
    """Takes the undisturbed way but at the decisions named; *widths*: how many other ways each had."""

    disturbances: Disturbances
    widths: list[int] = field(default_factory=list)

    def decide(self, width: int) -> int:
        self.widths.append(width)
        return self.disturbances.get(len(self.widths) - 1, 0)


@dataclass
class World:
    """One run: a batch of two chunks, and what was seen of each item."""

    script: Script
    fail_after: int | None = None
    worked: Counter[str] = field(default_factory=Counter)
    raised: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        tracker = Tracker(MemoryStore(), page_bits=PAGE, fresh_for=timedelta(0), pause=lambda _: None)
        self.inner = DirectTransport(tracker, "t")
        self.fanin = Fanin(self.inner)
        with self.fanin.open() as batch:
            batch.add(1)
            items = batch.add(ITEMS - 1)
        self.batch_id = batch.id
        self.fanin.ack_ranges([Items.between(batch.id, self._first().group_id, 0, 0)])
        self.ids = list(items)
        self.queue = {f"m{n}": chunk.message() for n, chunk in enumerate(items.chunks(CHUNK))}
        self.receives: Counter[str] = Counter()

    def _first(self) -> Items:
        return next(iter(self.fanin.outstanding(self.batch_id)))

    def run(self) -> None:
        """Deliver all messages until none is left, and check what came of the batch. Raises Broken."""
        for _ in range(ROUNDS):
            if not self.queue:
                break
            self._deliver()
        self._judge()

    def _deliver(self) -> None:
        """Deliver the messages that are there together, as Lambda does, and delete what it would delete."""
        records = []
        for name, body in self.queue.items():
            self.receives[name] += 1
            counted = {"ApproximateReceiveCount": str(self.receives[name])}
            records.append({"messageId": name, "body": body, "attributes": counted})
        consumer = EachConsumer(Flaky(self), work=self.work, fail_after=self.fail_after)
        try:
            response = consumer.settle({"Records": records}, self).response()
        except Killed:
            return
        left = {each["itemIdentifier"] for each in response["batchItemFailures"]}
        for name in set(self.queue) - left:
            if not self.script.decide(1):
                del self.queue[name]

    def work(self, item: ChunkItem) -> None:
        """The user's function: returns, raises, or ends the process before or after it has worked."""
        if item.id in self.answered:
            raise Broken(f"{item.id} is worked on after its answered ack")
        choice = self.script.decide(3)
        if choice == 2:
            raise Killed
        if choice == 1:
            self.raised.add(item.id)
            raise ValueError("the work failed")
        self.worked[item.id] += 1
        if choice == 3:
            raise Killed

    def get_remaining_time_in_millis(self) -> int:
        """The time of Lambda's context: ends now, or not."""
        return 0 if self.script.decide(1) else 60_000

    def _judge(self) -> None:
        status = self.fanin.get(self.batch_id)
        failed = {item for part in self.fanin.failures(self.batch_id) for item in part}
        undone = [item for item in self.ids if not self.worked[item] and item not in failed]
        if self.queue or undone or status.state is not State.COMPLETE:
            raise Broken(f"{undone} of {list(self.queue)} are never worked on; {status}")
        if failed - self.raised or (failed and self.fail_after is None):
            raise Broken(f"{failed} failed, although only {self.raised} raised")


@dataclass
class Flaky:
    """The consumer's way to the tracker: any request may be lost, or be the last one of the process."""

    world: World

    def state_of(self, batch_id: str) -> State | None:
        self._read()
        return self.world.inner.state_of(batch_id)

    def left(self, *asked: Any, **more: Any) -> tuple[Items, ...]:
        self._read()
        return self.world.inner.left(*asked, **more)

    def ack(self, acks: Any, key: str | None = None) -> AckReport:
        choice = self.world.script.decide(4)
        if choice == 1:
            raise StoreUnavailable("lost before it was applied")
        if choice == 2:
            raise Killed
        report = self.world.inner.ack(acks, key)
        if choice == 3:
            raise StoreUnavailable("lost after it was applied")
        if choice == 4:
            raise Killed
        self.world.answered |= {item for ack in acks if ack.outcome is Outcome.SUCCESS for item in _ids(ack)}
        return report

    def _read(self) -> None:
        choice = self.world.script.decide(2)
        if choice == 1:
            raise StoreUnavailable("lost")
        if choice == 2:
            raise Killed


def _ids(ack: Ack) -> Iterator[str]:
    return (f"{ack.batch_id}:{ack.group_id}:{index}" for index in range(ack.first, ack.last + 1))


def explore(depth: int, fail_after: int | None = None) -> Iterator[tuple[Disturbances, Broken | None]]:
    """Yield each run with up to *depth* disturbances, and the promise that it broke."""
    todo: list[Disturbances] = [{}]
    while todo:
        disturbances = todo.pop()
        script = Script(disturbances)
        yield disturbances, _broken(World(script, fail_after))
        if len(disturbances) < depth:
            for place in range(max(disturbances, default=-1) + 1, len(script.widths)):
                todo += [{**disturbances, place: other + 1} for other in range(script.widths[place])]


def _broken(world: World) -> Broken | None:
    try:
        world.run()
    except Broken as promise:
        return promise.with_traceback(None)
    return None
