"""Builds the queues of the work queues' handlers, once in a process and on first use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.direct_acks import DirectAcks
from fanin.client.job_acks import acking
from fanin.errors import InvalidRequest, NotFound
from fanin.queue import Queue, QueueContext, QueueKey
from fanin.queue.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from functions.wiring import metered, tracking

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
    return SqsDoorbells(clients.sqs.later(), settings().doorbell_prefix)


@lru_cache(maxsize=1)
def creator() -> QueueCreator:
    return QueueCreator(store(), doorbells())


@lru_cache(maxsize=1)
def registry() -> Registry:
    return Registry(metered.dynamodb(), settings().table)


@lru_cache(maxsize=QUEUES_KNOWN)
def made(tenant: str, name: str) -> Queue:
    """Return a queue for producers, which its first use creates."""
    return _queue(QueueKey(tenant, name), creator())


def known(tenant: str, name: str) -> Queue | None:
    """Return a queue for readers; None for a queue that does not exist."""
    return _existing(_queue(QueueKey(tenant, name)))


def existing(tenant: str, name: str) -> Queue:
    """Return a queue for readers. Raises NotFound for a queue that does not exist."""
    return _found(known(tenant, name), name)


def ringing(tenant: str, name: str) -> Queue:
    """Return a queue that is rung, so that a doorbell that it lacks is created.

    Raises NotFound for a queue that does not exist.
    """
    return _found(_existing(_queue(QueueKey(tenant, name), creator())), name)


def of_tenant(tenant: str, after: str | None, limit: int) -> list[Queue]:
    """Return the first queues of a tenant after the name *after*, in order, for readers."""
    return [_queue(key) for key in registry().of_tenant(tenant, after, limit)]


def every(minute: int) -> Iterator[Queue]:
    """Yield the queues of all tenants that are not asleep, and the sleeping ones of *minute* of the day."""
    listed = chain(registry().queues(), registry().sleeping(minute))
    return (_queue(queue, creator()) for queue in listed)


def _existing(queue: Queue) -> Queue | None:
    return None if queue.context.read_config() is None else queue


def _found(queue: Queue | None, name: str) -> Queue:
    if queue is None:
        raise NotFound(f"queue {name!r} does not exist")
    return queue


def _queue(queue: QueueKey, creator: QueueCreator | None = None) -> Queue:
    doorbell = SqsDoorbell(clients.sqs.later(), None, queue)
    report = acking(DirectAcks(tracking.transport().tracker, queue.tenant))
    context = QueueContext(store(), doorbell, queue, report=report, creator=creator)
    return Queue(context)
