"""What the work queues' handlers are made of, built once a process and when first needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from fanin.aws import clients
from fanin.aws.jobs import JobSettings
from fanin.client.direct import DirectTransport
from fanin.client.jobs import teller
from fanin.errors import InvalidRequest
from fanin.queue import Effects, Options, Queue, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.sqs import SqsDoorbell
from fanin.queue.worker import Place
from functions.wiring import tracking

QUEUES_KNOWN = 1000


@lru_cache(maxsize=1)
def settings() -> JobSettings:
    """The environment, read once; what is missing there is a fault of the deployment, not of a caller."""
    try:
        return JobSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def store() -> DynamoStore:
    return DynamoStore(tracking.dynamodb(), settings().table)


@lru_cache(maxsize=1)
def registry() -> Registry:
    return Registry(tracking.dynamodb(), settings().table)


@lru_cache(maxsize=QUEUES_KNOWN)
def made(tenant: str, name: str) -> Queue:
    """A queue for producers, which is there from now on."""
    queue = QueueKey(tenant, name)
    return _queue(queue, store().configure(queue, Options().parts))


def known(tenant: str, name: str) -> Queue | None:
    """A queue for those who only look; None where nobody has used it."""
    queue = QueueKey(tenant, name)
    parts = registry().parts(queue)
    return None if parts is None else _queue(queue, parts)


def every() -> Iterator[Queue]:
    """All queues of all tenants, each with somebody to tell of its ended jobs' items."""
    return (_queue(queue, parts) for queue, parts in registry().queues())


def _queue(queue: QueueKey, parts: int) -> Queue:
    url = settings().doorbell_of(queue.tenant, queue.name)
    doorbell = SqsDoorbell(clients.sqs(), url, queue)
    tell = teller(DirectTransport(tracking.transport().tracker, queue.tenant))
    return Queue.at(Place(store(), doorbell, queue, parts, Options(parts=parts), Effects(), tell))
