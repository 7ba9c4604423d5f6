"""What the handlers are made of, built once a process and when first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fanin.aws import clients
from fanin.aws.meter import Meter
from fanin.aws.settings import Settings
from fanin.aws.visibility import Visibility
from fanin.client.direct import DirectTransport
from fanin.errors import InvalidRequest
from fanin.pacing import each_in_threads
from fanin.tracker import Tracker, TrackerStore
from fanin.tracker.dynamodb import DynamoStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

meter = Meter()
"""What the store's client has sent and was charged, since this process began."""


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The environment, read once; what is missing there is a fault of the deployment, not of a caller."""
    try:
        return Settings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def tracker() -> Tracker:
    """The tracker over the deployed tables, whose verdicts go by the batch as it stands at each request."""
    return Tracker(_store(), settings().page_bits, fresh_for=timedelta(0), each=each_in_threads)


@lru_cache(maxsize=1)
def transport() -> DirectTransport:
    """The tracker as a consumer uses it, on behalf of the function's own tenant: it may lag by seconds."""
    tracker = Tracker(_store(), settings().page_bits, each=each_in_threads)
    return DirectTransport(tracker, settings().tenant)


def transport_of(event: Mapping[str, Any]) -> DirectTransport:
    """The tracker on behalf of the tenant whose items a dead-letter queue's delivery is about.

    An event source mapping reads one queue, so the first message speaks for all.
    """
    arn: str = event["Records"][0]["eventSourceARN"]
    return replace(transport(), tenant=settings().tenant_of(arn))


def hide(queue_arn: str, pauses: Mapping[str, int]) -> None:
    """Hide messages that go back; few deliveries have any, so the client is made when it is needed."""
    _visibility().hide(queue_arn, pauses)


@lru_cache(maxsize=1)
def _visibility() -> Visibility:
    return Visibility(clients.sqs())


@lru_cache(maxsize=1)
def _store() -> TrackerStore:
    return DynamoStore(dynamodb(), settings().tables)


@lru_cache(maxsize=1)
def dynamodb() -> DynamoDBClient:
    """The client that the meter reads; attached once, however many stores share it."""
    client = clients.dynamodb()
    meter.attach(client)
    return client
