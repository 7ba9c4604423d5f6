"""Work queues as a process of the user's works on them: on the table and the doorbell themselves."""

from __future__ import annotations

from uuid import UUID, uuid5

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.transport import Transport
from fanin.errors import InvalidRequest
from fanin.queue import Options, Queue, QueueKey, Telling
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.janitor import Tell
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
    """Acks the item of an ended job, as failed where the job is dead; what is no item is passed over.

    Told again it says the same: the word goes by the job's id and how it ended. A dead job that is revived
    may end well, which is another word.
    """

    def tell(telling: Telling) -> None:
        outcome, reason = (Outcome.FAILURE, DIED) if telling.failed else (Outcome.SUCCESS, None)
        caller = str(uuid5(OF_JOBS, f"{telling.job_id}:{outcome}"))
        try:
            ack = Ack.of(telling.item_id, caller, outcome, reason)
        except InvalidRequest:
            return
        transport.ack([ack], caller)

    return tell
