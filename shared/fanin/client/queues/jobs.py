"""Work queues whose workers use the table and the doorbell, without the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fanin.aws import clients
from fanin.client.queues.creating import ClientCreator, created
from fanin.client.queues.direct_queue import DirectQueue
from fanin.client.queues.handing_queue import HandingQueue
from fanin.client.queues.job_acks import ItemResults, acking
from fanin.client.queues.over_http import HttpQueue
from fanin.client.queues.queue import Queue, QueuePort
from fanin.client.queues.queue_model import RejectedJob
from fanin.client.transports.transport import Transport
from fanin.queue import NewJob, OnBusy, Options, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.sqs import SqsDoorbell
from fanin.settings.jobs import JobSettings


@dataclass(frozen=True, slots=True)
class WorkersQueue(HttpQueue):
    """A queue that is administered over the API, while its worker adds jobs on the table."""

    on_table: DirectQueue

    def add_all(self, jobs: Sequence[NewJob], on_busy: OnBusy) -> tuple[RejectedJob, ...]:
        return self.on_table.add_all(jobs, on_busy)


def queue_at(
    settings: JobSettings, name: str, options: Options, transport: Transport, again: Callable[[], Queue]
) -> Queue:
    """Return the queue *name* of *settings*. The items of its ended jobs are acked through *transport*.

    *again*: makes a copy of it.
    """
    key = QueueKey(settings.tenant, name)
    store = DynamoStore(clients.dynamodb(), settings.table)
    doorbell = SqsDoorbell(clients.sqs(), None, key, clients.long_polls())
    creator = ClientCreator(store, transport, settings)
    context = QueueContext(store, doorbell, key, options, report=acking(transport), creator=creator)
    worker = HandingQueue(context, results=ItemResults(transport))
    on_table = DirectQueue(worker, partial(created, name, settings))

    def calls() -> QueuePort:
        return WorkersQueue(transport, name, on_table) if transport.has_api else on_table

    return Queue(name, calls, worker, again)
