"""With ``keep_letters``, a dead-letter message is copied before it is deleted, and never deleted without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from fanin.aws import clients
from fanin.client.direct import DirectTransport
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from functions import fail_letters
from functions.wiring import consuming, tracking
from tests.functions.deliveries import delivery, failed

TENANT = "111122223333"


@pytest.fixture
def tracker(environment: pytest.MonkeyPatch, memory: MemoryStore) -> Tracker:
    tracker = Tracker(memory, page_bits=8)
    environment.setattr(tracking, "transport", lambda: DirectTransport(tracker, TENANT))
    return tracker


@pytest.fixture
def items(tracker: Tracker) -> list[str]:
    batch_id = tracker.open(TENANT, OpenBatch()).batch_id
    group = tracker.add(TENANT, batch_id, 3).groups[0].id
    return [f"{batch_id}:{group}:{index}" for index in range(3)]


@pytest.fixture
def sqs() -> Iterator[Any]:
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    with mock_aws():
        yield boto3.client("sqs", region_name="eu-west-1", **keys)


@pytest.fixture
def url(sqs: Any, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """The queue that keeps the messages, which the function is configured with."""
    made = str(sqs.create_queue(QueueName="kept")["QueueUrl"])
    environment.setenv("FANIN_KEPT_MESSAGES_QUEUE", made)
    environment.setattr(clients, "sqs", lambda: sqs)
    consuming.settings.cache_clear()
    yield made
    consuming.settings.cache_clear()


def bodies(sqs: Any, url: str) -> list[str]:
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return sorted(each["Body"] for each in found)


def test_what_is_deleted_is_copied_and_what_returns_is_not(
    tracker: Tracker, items: list[str], sqs: Any, url: str
) -> None:
    body = json.dumps({"itemId": items[1], "sku": 1})
    stranger = items[0].replace(items[0][:8], "0" * 8)
    response = fail_letters.handler(delivery(items[0], body, "?", stranger), None)

    assert failed(response) == ["message-2", "message-3"]
    assert bodies(sqs, url) == sorted([items[0], body])


def test_a_message_of_an_ended_batch_is_copied_too(
    tracker: Tracker, items: list[str], sqs: Any, url: str
) -> None:
    tracker.cancel(TENANT, items[0].partition(":")[0])

    assert failed(fail_letters.handler(delivery(items[0]), None)) == []
    assert bodies(sqs, url) == [items[0]]


def test_a_message_that_cannot_be_copied_returns(
    tracker: Tracker, items: list[str], url: str, environment: pytest.MonkeyPatch
) -> None:
    class Down:
        def send_message(self, **_: Any) -> None:
            raise EndpointConnectionError(endpoint_url=url)

    environment.setattr(clients, "sqs", Down)

    assert failed(fail_letters.handler(delivery(items[0], items[1]), None)) == ["message-0", "message-1"]
    assert tracker.get(TENANT, items[0].partition(":")[0]).failed == 2


def test_a_redelivered_message_is_copied_again(
    tracker: Tracker, items: list[str], sqs: Any, url: str
) -> None:
    """The process crashed after the copy: there are two, and never none."""
    for _ in range(2):
        assert failed(fail_letters.handler(delivery(items[0]), None)) == []

    assert bodies(sqs, url) == [items[0]] * 2


def test_without_the_setting_nothing_is_copied(tracker: Tracker, items: list[str]) -> None:
    assert failed(fail_letters.handler(delivery(items[0]), None)) == []
