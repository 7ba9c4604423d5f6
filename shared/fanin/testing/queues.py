"""Work queues in memory, for a fake client."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial

from fanin.client.model import QueueDescription
from fanin.client.queues.direct_queue import DirectQueue
from fanin.client.queues.handing_queue import HandingQueue
from fanin.client.queues.job_acks import ItemResults, acking
from fanin.client.queues.queue import Queue
from fanin.client.queues.queue_model import description_of
from fanin.client.transports.transport import Acks
from fanin.pacing import each_in_turn
from fanin.queue import Effects, MemoryDoorbell, Options, QueueContext, QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.maintenance.visiting import visit
from fanin.queue.memory import MemoryStore
from fanin.testing.clock import FakeClock

MICROSECONDS = 1_000_000


class FakeDoorbells:
    """The doorbells of all queues of a fake, none of which is an SQS queue."""

    def create(self, queue: QueueKey) -> str:
        return f"memory:{queue.name}"

    def update(self, queue: QueueKey, url: str) -> None:
        """Do nothing: there is no SQS queue."""

    def delete(self, queue: QueueKey, url: str) -> None:
        """Do nothing: there is no SQS queue."""

    def arn(self, url: str) -> str:
        return url


@dataclass(slots=True)
class FakeQueues:
    """The work queues of *tenant*, in one store.

    Their time passes as on this machine, and jumps when *clock* is advanced: a take waits, and a session
    sends heartbeats, as in production.
    """

    tenant: str
    clock: FakeClock
    store: MemoryStore = field(default_factory=MemoryStore)
    contexts: dict[str, QueueContext] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def queue(self, name: str, options: Options | None, acks: Acks) -> Queue:
        """Return the queue *name*, as one process uses it; *acks* acks the items of its jobs.

        By default its sessions are renewed, because the clock's jumps end them.
        """
        key = QueueKey(self.tenant, name)
        known = self.contexts.get(name)
        context = QueueContext(
            store=self.store,
            doorbell=MemoryDoorbell() if known is None else known.doorbell,
            key=key,
            options=options or Options(renew=True),
            effects=self._effects(),
            report=acking(acks),
            creator=self._creator(),
        )
        self.contexts.setdefault(name, context)
        worker = HandingQueue(context, results=ItemResults(acks))
        calls = DirectQueue(worker, partial(self._create, name))
        return Queue(name, lambda: calls, worker)

    def sweep(self) -> None:
        """Run the scheduled sweep of each queue that has been used."""
        for context in list(self.contexts.values()):
            visit(context)

    def _create(self, name: str, parts: int | None, metrics: bool | None) -> QueueDescription:
        key = QueueKey(self.tenant, name)
        return description_of(name, self._creator().ensure(key, parts, metrics))

    def _creator(self) -> QueueCreator:
        return QueueCreator(self.store, FakeDoorbells(), self._effects())

    def _effects(self) -> Effects:
        return Effects(now=self._now, monotonic=self._monotonic, each=each_in_turn)

    def _now(self) -> int:
        """Return the wall clock, in microseconds since 1970."""
        started_at = self.clock.started_at.timestamp()
        return round((started_at + self._monotonic() - self.began) * MICROSECONDS)

    def _monotonic(self) -> float:
        """Return the seconds of this machine's monotonic clock and of the jumps of the fake's clock."""
        return time.monotonic() + self.clock.monotonic()
