"""Builds the queues of the work queues' handlers, once in a process and on first use."""

from __future__ import annotations

from functools import lru_cache

from fanin.aws import clients
from fanin.client.queues.job_acks import acking
from fanin.client.transports.direct_acks import DirectAcks
from fanin.errors import InvalidRequest, NotFound
from fanin.queue import Queue, QueueContext, QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from fanin.settings.jobs import JobSettings
from functions.wiring import metered, tracking
from functions.wiring.quotas import admit_queue

QUEUES_KNOWN = 1000


@lru_cache(maxsize=1)
def settings() -> JobSettings:
    """Return the settings of the environment; RuntimeError where the deployment lacks one."""
    try:
        return JobSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def store() -> DynamoStore:
    return DynamoStore(metered.dynamodb(), settings().table)


@lru_cache(maxsize=1)
def doorbells() -> SqsDoorbells:
    of = settings()
    return SqsDoorbells(clients.sqs.later(), of.doorbell_prefix, of.doorbell_key, of.doorbell_tags)


@lru_cache(maxsize=1)
def creator() -> QueueCreator:
    return QueueCreator(store(), doorbells(), admit=_admit)


@lru_cache(maxsize=1)
def registry() -> Registry:
    return Registry(metered.dynamodb(), settings().table)


@lru_cache(maxsize=QUEUES_KNOWN)
def created(tenant: str, name: str) -> Queue:
    """Return a queue for producers, which its first use creates."""
    return _queue(QueueKey(tenant, name), creator())


def known(tenant: str, name: str) -> Queue | None:
    """Return a queue for readers; None for a queue that does not exist."""
    return _existing(_queue(QueueKey(tenant, name)))


def existing(tenant: str, name: str) -> Queue:
    """Return a queue for readers. Raises NotFound for a queue that does not exist."""
    return _existing_or_refused(known(tenant, name), name)


def ringing(tenant: str, name: str) -> Queue:
    """Return a queue that is rung, so that a doorbell that it lacks is created.

    Raises NotFound for a queue that does not exist.
    """
    return _existing_or_refused(_existing(_queue(QueueKey(tenant, name), creator())), name)


def of_tenant(tenant: str, after: str | None, limit: int) -> list[Queue]:
    """Return the first queues of a tenant after the name *after*, in order, for readers."""
    return [_queue(key) for key in registry().of_tenant(tenant, after, limit)]


def names(minute: int) -> list[QueueKey]:
    """Return the queues of all tenants that are not asleep, and the sleeping ones of *minute* of the day."""
    return [*registry().queues(), *registry().sleeping(minute)]


def swept(queue: QueueKey) -> Queue:
    """Return a queue for the sweep, whose doorbell is created where it lacks one."""
    return _queue(queue, creator())


def _admit(queue: QueueKey) -> None:
    admit_queue(queue.tenant, lambda tenant, most: registry().of_tenant(tenant, None, most))


def _existing(queue: Queue) -> Queue | None:
    return None if queue.context.read_config() is None else queue


def _existing_or_refused(queue: Queue | None, name: str) -> Queue:
    if queue is None:
        raise NotFound(f"queue {name!r} does not exist")
    return queue


def _queue(queue: QueueKey, creator: QueueCreator | None = None) -> Queue:
    doorbell = SqsDoorbell(clients.sqs.later(), None, queue)
    report = acking(DirectAcks(tracking.transport().tracker, queue.tenant))
    context = QueueContext(store(), doorbell, queue, report=report, creator=creator)
    return Queue(context)
