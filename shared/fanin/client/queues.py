"""Creates work queues: through the API, or with the credentials of this process."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from botocore.exceptions import ClientError

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.checking import instance, text, whole
from fanin.client.model import QueueDescription
from fanin.client.queue_calls import description_of
from fanin.client.transport import Transport
from fanin.errors import Conflict, InvalidRequest
from fanin.queue import QueueKey, QueueStore
from fanin.queue.config import QueueConfig, existing
from fanin.queue.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.keys import PARTS_MAX, checked_queue_name
from fanin.queue.sqs import SqsDoorbells

DENIED = {"AccessDenied", "AccessDeniedException"}


@dataclass(frozen=True, slots=True)
class ClientCreator:
    """Creates queues through the API; over a direct transport with the credentials of this process.

    *prefix*: what the ARNs of the doorbells begin with; only a direct transport needs it.
    """

    store: QueueStore
    transport: Transport
    prefix: str

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        exists = existing(self.store.config(queue)) is not None
        with suppress(Conflict):  # another process has created it with other parts
            if self.transport.create_queue(queue.name, None if exists else config.parts) is None:
                return direct(self.store, self.prefix).create(queue, config)
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
            actions = f"grant sqs:CreateQueue and sqs:GetQueueUrl on {self.prefix}*"
            raise _not_granted(queue, actions) from error


def direct(store: QueueStore, prefix: str) -> QueueCreator:
    """Return the creator of queues with the credentials of this process."""
    return QueueCreator(store, GrantedDoorbells(clients.sqs(), prefix))


def created(name: str, parts: int | None, at: JobSettings | None, transport: Transport) -> QueueDescription:
    """Create the queue *name*, unless it exists, and return it. *at*: used without the API."""
    name = checked_queue_name(text(name, "a queue's name", "name"))
    parts = None if parts is None else whole(parts, "parts", 1, PARTS_MAX)
    over_api = transport.create_queue(name, parts)
    return _created_directly(name, parts, settings_given(at)) if over_api is None else over_api


def _created_directly(name: str, parts: int | None, settings: JobSettings) -> QueueDescription:
    creator = direct(DynamoStore(clients.dynamodb(), settings.table), settings.doorbell_prefix)
    return description_of(name, creator.ensure(QueueKey(settings.tenant, name), parts))


def settings_given(at: JobSettings | None) -> JobSettings:
    """Return *at*, by default the settings of the environment."""
    return JobSettings.from_env() if at is None else instance(at, JobSettings, "at")


def _not_granted(queue: QueueKey, instead: str) -> InvalidRequest:
    return InvalidRequest(
        f"this process cannot create the doorbell of queue {queue.name!r}: request"
        f" PUT /v1/queues/{queue.name} of the API, or {instead}"
    )
