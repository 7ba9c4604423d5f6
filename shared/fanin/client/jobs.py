"""Work queues for the user's processes, which use the table and the doorbell without the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.checking import instance, text
from fanin.client.handing import job_id, made, making
from fanin.client.queues import ClientCreator, settings_given
from fanin.client.reasons import fitting
from fanin.client.transport import Acks, Transport
from fanin.errors import InvalidRequest
from fanin.queue import (
    NewJob,
    OnBusy,
    Options,
    OutboxEntry,
    Queue,
    QueueContext,
    QueueKey,
    Rejected,
    Reporter,
)
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.sqs import SqsDoorbell
from fanin.tracker import Ack, Outcome

OF_JOBS = UUID("c1d5f6c3-20f5-5c53-8a0c-7d8a5be60a1b")
DIED = "the job failed too often"


def queue_at(at: JobSettings | None, name: str, options: Options | None, transport: Transport) -> Queue:
    """Return the queue *name* of *at*, by default the environment's.

    The items of its ended jobs are acked through *transport*.
    """
    settings = settings_given(at)
    options = Options() if options is None else instance(options, Options, "options")
    key = QueueKey(settings.tenant, text(name, "a queue's name", "name"))
    store = DynamoStore(clients.dynamodb(), settings.table)
    doorbell = SqsDoorbell(clients.sqs(), None, key, clients.long_polls())
    creator = ClientCreator(store, transport, settings.doorbell_prefix)
    context = QueueContext(store, doorbell, key, options, report=acking(transport), creator=creator)
    return HandingQueue(context)


@dataclass
class HandingQueue(Queue):
    """A queue whose jobs become the owners of their items, where those are under work in this process.

    A repeated call of the function adds the same job, because its id is derived from the item.
    """

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        asked = [_named(job if isinstance(job, NewJob) else NewJob(job)) for job in jobs]
        with making(*(job.item_id for job in asked)):
            rejected = super().add_all(asked, on_busy=on_busy)
        made(*_added(asked, rejected))
        return rejected


def _named(job: NewJob) -> NewJob:
    if job.item_id is None or job.id is not None:
        return job
    return replace(job, id=job_id(job.item_id, job.key))


def _added(asked: Sequence[NewJob], rejected: Sequence[Rejected]) -> list[str]:
    """Return the items of the jobs that were added: of several with one key it can be the first one only."""
    refused = Counter(each.key for each in rejected)
    times = Counter(job.key for job in asked)
    first = {job.key: job.item_id for job in reversed(asked)}
    return [item for key, item in first.items() if item is not None and refused[key] < times[key]]


def acking(transport: Acks) -> Reporter:
    """Return the function that acks the item of an outbox entry: as failed, if the job is dead.

    An item id that is malformed is ignored. A repeated ack is the same request, because its idempotency key
    follows from the end of the job and its outcome.
    """

    def report(entry: OutboxEntry) -> None:
        outcome, reason = (Outcome.FAILURE, reason_of(entry)) if entry.failed else (Outcome.SUCCESS, None)
        caller = str(uuid5(OF_JOBS, _ack_text(entry, outcome)))
        try:
            ack = Ack.of(entry.item_id, caller, outcome, reason)
        except InvalidRequest:
            return
        transport.ack([ack], caller)

    return report


def reason_of(entry: OutboxEntry) -> str:
    """Return the reason of a failed item: the last error of the dead job, cut to the length of a reason."""
    return fitting(entry.reason or "") or DIED


def _ack_text(entry: OutboxEntry, outcome: Outcome) -> str:
    """Return the text that identifies one ack; version 0.1 made the same text of the rows that it wrote."""
    text = f"{entry.record}:{outcome}"
    return f"{text}:{entry.reason}" if entry.reason else text
