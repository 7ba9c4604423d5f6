"""Work queues for the user's processes, which use the table and the doorbell without the API."""

from __future__ import annotations

from fanin.aws import clients
from fanin.aws.settings.jobs import JobSettings
from fanin.client.queues.creating import ClientCreator
from fanin.client.queues.handing_queue import HandingQueue
from fanin.client.queues.job_acks import ItemResults, acking
from fanin.client.transports.transport import Transport
from fanin.queue import Options, Queue, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.sqs import SqsDoorbell


def queue_at(at: JobSettings | None, name: str, options: Options, transport: Transport) -> Queue:
    """Return the queue *name* of *at*, by default the environment's.

    The items of its ended jobs are acked through *transport*.
    """
    settings = at or JobSettings.from_env()
    key = QueueKey(settings.tenant, name)
    store = DynamoStore(clients.dynamodb(), settings.table)
    doorbell = SqsDoorbell(clients.sqs(), None, key, clients.long_polls())
    creator = ClientCreator(store, transport, settings)
    context = QueueContext(store, doorbell, key, options, report=acking(transport), creator=creator)
    return HandingQueue(context, results=ItemResults(transport))
