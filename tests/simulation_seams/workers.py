"""A worker outside of Lambda: a process whose threads receive, work, settle, delete and extend.

It is killed or frozen at any request, or asked to stop. Its steps are those of the product; its threads are
actors, which take them one at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import Message
from fanin.client.sqs_worker.performing import ConsumerPerformer, TimeLeft
from fanin.client.sqs_worker.visibility import LOOKS, Leases
from fanin.client.sqs_worker.worker import Worker
from fanin.isolating import Record
from tests.simulating.faults import PAUSED, Crash
from tests.simulating.violation import Violation, require
from tests.simulation_seams.scenario import START
from tests.simulation_seams.sqs import Queue

if TYPE_CHECKING:
    from tests.simulation_seams.world import Process, World

VISIBILITY = 120
IDLE = timedelta(seconds=5)
GRACE = timedelta(seconds=60)
ASKED, KILLED, FROZEN = "asked to stop", "worker killed", PAUSED


@dataclass(eq=False)
class Source:
    """The queue as a worker's process sees it: over the network."""

    worker: WorkerProcess
    queue: Queue

    @property
    def name(self) -> str:
        return self.queue.name

    def receive(self, most: int, wait: int, visibility: int | None) -> Sequence[Record]:
        if not self.queue.visible():
            self.worker.sleep(timedelta(seconds=wait))
        records: list[Record] = self._send("take", most, visibility, self.worker.may_copy())
        self.worker.received |= {each["messageId"]: each["receiptHandle"] for each in records}
        return records

    def delete(self, receipts: Sequence[str]) -> Collection[str]:
        return self._send("drop", receipts)

    def hide(self, receipts: Sequence[str], seconds: int) -> Collection[str]:
        return self._send("keep", receipts, seconds)

    def _send(self, name: str, *args: Any) -> Any:
        if isinstance(found := sys.exc_info()[1], Violation):
            raise found  # the worker returns what ends a thread of it, and the run ends here
        if self.worker.process.has_died:
            raise Crash
        return self.worker.world.network.send(self.queue, name, *args)


@dataclass(frozen=True, slots=True)
class Performer(ConsumerPerformer):
    """Works by the consumer, and ends the run at an error of it, which a worker would only log."""

    def settle(self, messages: Sequence[Message]) -> Collection[str]:
        try:
            return ConsumerPerformer.settle(self, messages)
        except Exception as error:
            raise Violation("worker", f"nothing is settled: {error!r}") from error


@dataclass(eq=False)
class WorkerProcess:
    """One worker from its start to its end. *event*: what happens to it at *event_at*, if anything does.

    *received*: message id -> the latest receipt handle. *has_failed*: requests of it met faults.
    """

    world: World
    queue: Queue
    process: Process
    event: str | None
    event_at: datetime
    received: dict[str, str] = field(default_factory=dict)
    has_ended: bool = False

    def __post_init__(self) -> None:
        world, random = self.world, self.world.random
        consumer = self.process.handling.consumer(in_chunks=self.queue is world.chunks)
        now = self._now
        in_flight = InFlight(random.choice((1, 2, 4)), ahead=random.choice((0, 10)))
        performer = Performer(consumer.within(TimeLeft(now=now)))
        leases = Leases(Source(self, self.queue), VISIBILITY, now)
        self.worker = Worker(in_flight, leases, performer, chance=random.random)

    def start(self) -> None:
        """Start the threads of the process."""
        worker = self.worker
        steps: list[Callable[[], object]] = [self._perform] * worker.in_flight.concurrency
        steps += [self._receive] * self.world.random.choice((1, 2))
        steps += [worker.settle, worker.delete, self._extend]
        killed_at = self.event_at if self.event == KILLED else None
        for step in steps:
            work = partial(self._run, step)
            self.world.start(f"{self.queue.name} worker", work, process=self.process, killed_at=killed_at)
        self.world.start("its end", self._end, process=self.process)

    def may_copy(self) -> bool:
        """Whether a receive may have a message that is hidden, as those of a standard queue may."""
        world = self.world
        copied = world.duplicates > 0 and world.random.random() < 0.1
        world.duplicates -= copied
        return copied

    def _now(self) -> float:
        return (self.world.loop.at - START).total_seconds()

    def _run(self, step: Callable[[], object]) -> None:
        """Take a step again and again, with a pause if there was nothing to do."""
        try:
            while not self.has_ended:
                if not step():
                    self.sleep(IDLE)
        except Crash:
            self.process.has_died = True

    def sleep(self, duration: timedelta) -> None:
        self.world.loop.sleep(duration)
        if self.world.loop.actor.is_killed_by(self.world.loop.at):
            raise Crash

    def _receive(self) -> int | None:
        found = self.worker.receive()
        if found is None:
            self.sleep(timedelta(seconds=self.worker.pause()))
        return found

    def _extend(self) -> None:
        self.worker.extend()
        self.sleep(timedelta(seconds=VISIBILITY / LOOKS) - IDLE)

    def _perform(self) -> bool:
        messages = self.worker.start()
        for message in messages:
            self._judge_start(message)
            self.world.loop.actor.delivery = self.world.delivery_of(message.record)
            self.world.at_work[message.id] = self.process
            try:
                self.worker.perform([message])
            finally:
                self.world.at_work.pop(message.id, None)
        return bool(messages)

    def _judge_start(self, message: Message) -> None:
        """W: work begins on a message that no other worker has, in a FIFO queue on the first of its group."""
        now = self.queue.messages.get(message.id)
        copied = self.world.scenario.duplicates
        own = now is None or self.queue.receipt(now) == message.receipt
        require(own or bool(copied), "lease", lambda: f"work on {message.id} begins, another worker has it")
        if self.queue.in_order and now is not None:
            first = next(each for each in self.queue.messages.values() if each.group == now.group)
            require(first is now, "order", lambda: f"work on {now} begins before {first}")

    def _end(self) -> None:
        """End the worker when it has nothing to do, or as its *event* says."""
        try:
            while not self._is_due():
                self.sleep(IDLE)
            self._stop()
        except Crash:
            self.process.has_died = True
        finally:
            self.has_ended = True
            self.world.workers.remove(self)

    def _is_due(self) -> bool:
        world, in_flight = self.world, self.worker.in_flight
        if self.process.has_died or (self.event == KILLED and self.event_at <= world.loop.at):
            raise Crash
        if self.event == FROZEN and self.event_at <= world.loop.at:
            self.freeze(world.random.choice((30, 150, 400)))
        if self.event == ASKED and self.event_at <= world.loop.at:
            return True
        return not in_flight.count and not self.queue.visible() and world.random.random() < 0.3

    def freeze(self, seconds: int) -> None:
        """Stop all threads of the process for a while, wherever they are."""
        self.event = None
        until = self.world.loop.at + timedelta(seconds=seconds)
        for actor in self.world.loop.running:
            if actor.process is self.process:
                actor.wake = max(actor.wake, until)
        self.sleep(until - self.world.loop.at)

    def _stop(self) -> None:
        worker, until = self.worker, self.world.loop.at + GRACE
        worker.stop()
        while worker.in_flight.count and self.world.loop.at < until:
            self.sleep(IDLE)
        worker.abandon()
        self.process.has_died = True
        ended = [each for each, process in self.world.at_work.items() if process is self.process]
        for message_id in ended:
            self.world.at_work.pop(message_id)
        self._judge_stop()

    def _judge_stop(self) -> None:
        """W: at a stop, no message stays hidden on which work has not begun."""
        if not self.world.is_calm or self.queue.in_order:
            return
        for message in self.queue.messages.values():
            own = self.received.get(message.id) == self.queue.receipt(message)
            tried = message.id in self.process.begun or message.id in self.worker.in_flight.returned
            dropped = own and not tried and message.visible_at > self.world.loop.at
            require(not dropped, "stop", lambda message=message: f"{message} stays hidden after a stop")
