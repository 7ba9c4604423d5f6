"""Work queues for the user's processes, which use the table and the doorbell without the API."""

from __future__ import annotations

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.checking import instance, text
from fanin.client.handing_queue import HandingQueue
from fanin.client.job_acks import acking
from fanin.client.queues import ClientCreator, settings_given
from fanin.client.transport import Transport
from fanin.queue import Options, Queue, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.sqs import SqsDoorbell


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
