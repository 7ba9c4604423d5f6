"""Builds the publications for their handlers, once in each process and at their first use."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fanin.aws import clients
from fanin.aws.calls import send
from fanin.aws.settings.tracking import needed
from fanin.publications.dynamodb import DynamoPlaces
from fanin.publications.model import Order, check_allowed
from fanin.publications.parsing import publications_of
from fanin.publications.service import Publications
from functions.wiring import tracking
from functions.wiring.deployed import settings_file
from functions.wiring.metered import dynamodb

if TYPE_CHECKING:
    from fanin.publishing.sender import Sender


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of an order are sent."""

    queue_url: str
    chunk: int | None
    rate: float | None
    group: str | None


@lru_cache(maxsize=1)
def publications() -> Publications:
    """Return the publications over the deployed tables, with the credentials of this process."""
    places = DynamoPlaces(dynamodb(), tracking.settings().tables.batches)
    return Publications(tracking.tracker(), places, clients.s3.later(), _sender_of, _send_on)


def check(order: Order) -> None:
    """Raise InvalidRequest unless the settings allow *order*."""
    check_allowed(order, publications_of(settings_file().publications), tracking.settings().tenant)


def _sender_of(order: Order) -> Sender:
    from fanin.publishing.sender import Sender  # noqa: PLC0415  # the routes send no rows

    shape = Shape(_url(order.queue), order.chunk, order.rate, order.group)
    return Sender(clients.sqs(), shape, sleep=time.sleep)


def _send_on(body: str) -> None:
    url = needed(os.environ, "FANIN_PUBLICATIONS_QUEUE_URL")
    send(clients.sqs().send_message, {"QueueUrl": url, "MessageBody": body})


@lru_cache(maxsize=100)
def _url(queue_arn: str) -> str:
    account, name = queue_arn.split(":")[4:6]
    wanted = {"QueueName": name, "QueueOwnerAWSAccountId": account}
    url: str = send(clients.sqs().get_queue_url, wanted)["QueueUrl"]
    return url
