"""Work queues as a process of the user's works on them: on the table and the doorbell themselves."""

from __future__ import annotations

from uuid import UUID, uuid5

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.reasons import fitting
from fanin.client.transport import Transport
from fanin.errors import InvalidRequest
from fanin.queue import Options, Queue, QueueKey, Telling
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.maintenance import Tell
from fanin.queue.sqs import SqsDoorbell
from fanin.tracker import Ack, Outcome

OF_JOBS = UUID("c1d5f6c3-20f5-5c53-8a0c-7d8a5be60a1b")
DIED = "the job failed too often"


def queue_at(settings: JobSettings, name: str, options: Options, transport: Transport) -> Queue:
    """The queue *name* where *settings* say; the items of its ended jobs are acked through *transport*."""
    key = QueueKey(settings.tenant, name)
    store = DynamoStore(clients.dynamodb(), settings.table)
    url = settings.doorbell_of(settings.tenant, name)
    doorbell = SqsDoorbell(clients.sqs(), url, key, clients.long_polls())
    return Queue(store, doorbell, key, options, tell=teller(transport))


def teller(transport: Transport) -> Tell:
    """Acks the item of an ended job, or fails it with the job's last error; what is no item is passed over.

    A repeated ack is the same request: its idempotency key names the end of the job, and what is said of it.
    """

    def tell(telling: Telling) -> None:
        outcome, reason = (Outcome.FAILURE, reason_of(telling)) if telling.failed else (Outcome.SUCCESS, None)
        caller = str(uuid5(OF_JOBS, _said(telling, outcome)))
        try:
            ack = Ack.of(telling.item_id, caller, outcome, reason)
        except InvalidRequest:
            return
        transport.ack([ack], caller)

    return tell


def reason_of(telling: Telling) -> str:
    """Why the item of a dead job failed: the job's last error, as it fits into a reason."""
    return fitting(telling.reason or "") or DIED


def _said(telling: Telling, outcome: Outcome) -> str:
    """The text of one ack; for a row of 0.1 the text that 0.1 made of it."""
    said = f"{telling.record}:{outcome}"
    return f"{said}:{telling.reason}" if telling.reason else said
