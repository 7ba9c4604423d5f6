"""Builds the publications for their handlers, once in each process and at their first use."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fanin.aws import clients
from fanin.aws.calls import send
from fanin.errors import InvalidRequest
from fanin.settings.tracking import needed
from functions.wiring import tracking
from functions.wiring.deployed import settings_file
from functions.wiring.metered import dynamodb

if TYPE_CHECKING:
    from fanin.publishing.sender import Sender
    from fanin.s3_publications.allowing import Allowed
    from fanin.s3_publications.model import Order
    from fanin.s3_publications.object_created import Created
    from fanin.s3_publications.service import Publications
    from fanin.tracker import Tracker

logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of an order are sent."""

    queue_url: str
    chunk: int | None
    rate: float | None
    group: str | None


def publications(counting: Callable[[Tracker], Tracker] = lambda tracker: tracker) -> Publications:
    """Return the publications over the deployed tables, with the credentials of this process.

    *counting*: returns the tracker with metrics.
    """
    from fanin.s3_publications.dynamodb import DynamoPositions  # noqa: PLC0415  # the other routes start without it
    from fanin.s3_publications.service import Publications  # noqa: PLC0415  # see above

    positions = DynamoPositions(dynamodb(), tracking.settings().tables.batches)
    return Publications(
        counting(tracking.tracker()), positions, clients.s3.later(), sender_of, _send_on, check
    )


def check(order: Order) -> None:
    """Raise InvalidRequest unless the settings allow *order*."""
    from fanin.s3_publications.allowing import check_allowed  # noqa: PLC0415  # the other routes start without it

    check_allowed(order, _allowed(), tracking.settings().tenant)


def orders_of_created(created: Created) -> list[Order]:
    """Return what the settings publish of the object *created*; one that cannot be published is logged."""
    from fanin.s3_publications.allowing import orders_of  # noqa: PLC0415  # see check

    try:
        return orders_of(created.source, _allowed(), tracking.settings().tenant)
    except InvalidRequest as error:
        logger.warning("%s was created, and is not published: %s", created.source, error)
        return []


@lru_cache(maxsize=1)
def _allowed() -> tuple[Allowed, ...]:
    from fanin.s3_publications.parsing import publications_of  # noqa: PLC0415  # see check

    return publications_of(settings_file().publications)


def sender_of(order: Order) -> Sender:
    """Return what sends the rows of *order*. Raises InvalidRequest if its queue does not exist."""
    from fanin.publishing.sender import Sender  # noqa: PLC0415  # the routes send no rows

    shape = Shape(_url(order.queue), order.chunk, order.rate, order.group)
    return Sender(clients.sqs.within(_region(order.queue)), shape, sleep=time.sleep)


def _send_on(body: str, delay_seconds: int) -> None:
    url = needed(os.environ, "FANIN_PUBLICATIONS_QUEUE_URL")
    request = {"QueueUrl": url, "MessageBody": body, "DelaySeconds": delay_seconds}
    send(clients.sqs().send_message, request)


@lru_cache(maxsize=100)
def _url(queue_arn: str) -> str:
    account, name = queue_arn.split(":")[4:6]
    wanted = {"QueueName": name, "QueueOwnerAWSAccountId": account}
    sqs = clients.sqs.within(_region(queue_arn))
    try:
        url: str = send(sqs.get_queue_url, wanted)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        text = f"there is no queue {queue_arn}; create it, or correct the setting publications"
        raise InvalidRequest(text, field="queue") from None
    return url


def _region(queue_arn: str) -> str:
    """Return the region of the queue: SQS knows no queue of another one."""
    return queue_arn.split(":")[3]
