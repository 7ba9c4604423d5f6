"""Creates work queues: through the API, or with the credentials of this process."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from botocore.exceptions import ClientError

from fanin.aws import clients
from fanin.client.model import QueueDescription
from fanin.client.queues.queue_model import description_of
from fanin.client.transports.transport import Transport
from fanin.errors import Conflict, InvalidRequest
from fanin.queue import QueueKey, QueueStore
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.config import QueueConfig, existing
from fanin.queue.sqs import SqsDoorbells
from fanin.settings.jobs import JobSettings

DENIED = {"AccessDenied", "AccessDeniedException"}


@dataclass(frozen=True, slots=True)
class ClientCreator:
    """Creates queues through the API; over a direct transport with the credentials of this process.

    *settings*: what the doorbells are created with; only a direct transport needs it.
    """

    store: QueueStore
    transport: Transport
    settings: JobSettings

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        exists = existing(self.store.config(queue)) is not None
        with suppress(Conflict):  # another process has created it with other parts
            if self.transport.create_queue(queue.name, None if exists else config.parts) is None:
                return direct(self.store, self.settings).create(queue, config)
        stored = existing(self.store.config(queue))
        if stored is None:
            raise InvalidRequest(
                f"the API has no queue {queue.name!r} of tenant {queue.tenant!r} in this table: check that"
                " FANIN_TENANT and FANIN_QUEUE_TABLE are those of the API at this URL"
            )
        return stored


@dataclass(frozen=True, slots=True)
class GrantedDoorbells(SqsDoorbells):
    """Doorbells of a process that may lack the grants for them: its errors say what to do."""

    def create(self, queue: QueueKey) -> str:
        if not self.prefix:
            raise _not_granted(queue, "set FANIN_DOORBELL_PREFIX, the stack's output DoorbellPrefix")
        try:
            return SqsDoorbells.create(self, queue)
        except ClientError as error:
            if error.response["Error"]["Code"] not in DENIED:
                raise
            actions = "sqs:CreateQueue and sqs:GetQueueUrl" + (" and sqs:TagQueue" if self.tags else "")
            raise _not_granted(queue, f"grant {actions} on {self.prefix}*") from error


def direct(store: QueueStore, settings: JobSettings) -> QueueCreator:
    """Return the creator of queues with the credentials of this process."""
    key, tags = settings.doorbell_key, settings.doorbell_tags
    return QueueCreator(store, GrantedDoorbells(clients.sqs(), settings.doorbell_prefix, key, tags))


def created(name: str, settings: JobSettings, parts: int | None, metrics: bool | None) -> QueueDescription:
    """Create the queue *name*, unless it exists, with the credentials of this process, and return it."""
    creator = direct(DynamoStore(clients.dynamodb(), settings.table), settings)
    return description_of(name, creator.ensure(QueueKey(settings.tenant, name), parts, metrics))


def _not_granted(queue: QueueKey, instead: str) -> InvalidRequest:
    return InvalidRequest(
        f"this process cannot create the doorbell of queue {queue.name!r}: request"
        f" PUT /v1/queues/{queue.name} of the API, or {instead}"
    )
