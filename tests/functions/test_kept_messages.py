"""A dead-letter message is copied before it is deleted, if the stack keeps it or it matches no item."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from fanin.aws import clients
from fanin.isolating import TRIES
from fanin.tracker import OpenBatch, Tracker
from functions import fail_dead_letter_messages
from functions.wiring import consuming
from tests.functions.conftest import TENANT
from tests.functions.deliveries import QUEUE, delivery, failed


@pytest.fixture
def items(tracker: Tracker) -> list[str]:
    batch_id = tracker.open(TENANT, OpenBatch()).batch_id
    group = tracker.add(TENANT, batch_id, 3).groups[0].id
    return [f"{batch_id}:{group}:{index}" for index in range(3)]


def configured(sqs: Any, environment: pytest.MonkeyPatch, setting: str) -> Iterator[str]:
    """A queue that the function is configured with."""
    url = str(sqs.create_queue(QueueName="queue")["QueueUrl"])
    environment.setenv(setting, url)
    environment.setattr(clients, "sqs", lambda: sqs)
    consuming.settings.cache_clear()
    yield url
    consuming.settings.cache_clear()


@pytest.fixture
def url(sqs: Any, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """The queue that keeps the messages."""
    yield from configured(sqs, environment, "FANIN_KEPT_MESSAGES_QUEUE")


@pytest.fixture
def parked(sqs: Any, environment: pytest.MonkeyPatch) -> Iterator[str]:
    """The queue of the messages that match no item."""
    yield from configured(sqs, environment, "FANIN_OWN_DEAD_LETTER_QUEUE")


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"]}
    return sqs.receive_message(**asked).get("Messages", [])


def bodies(sqs: Any, url: str) -> list[str]:
    return sorted(each["Body"] for each in received(sqs, url))


def test_what_is_deleted_is_copied_and_what_returns_is_not(
    tracker: Tracker, items: list[str], sqs: Any, url: str
) -> None:
    body = json.dumps({"itemId": items[1], "sku": 1})
    stranger = items[0].replace(items[0][:8], "0" * 8)
    response = fail_dead_letter_messages.handler(delivery(items[0], body, "?", stranger), None)

    assert failed(response) == ["message-2", "message-3"]
    assert bodies(sqs, url) == sorted([items[0], body])


def test_a_message_that_cannot_be_copied_returns(
    tracker: Tracker, items: list[str], url: str, environment: pytest.MonkeyPatch
) -> None:
    class Down:
        def send_message(self, **_: Any) -> None:
            raise EndpointConnectionError(endpoint_url=url)

    environment.setattr(clients, "sqs", Down)

    assert failed(fail_dead_letter_messages.handler(delivery(items[0], items[1]), None)) == [
        "message-0",
        "message-1",
    ]
    assert tracker.get(TENANT, items[0].partition(":")[0]).failed == 2


def test_a_chunk_and_a_redelivered_message_of_an_ended_batch_are_copied(
    tracker: Tracker, items: list[str], sqs: Any, url: str
) -> None:
    """After a crash there are two copies, and never none."""
    chunk = json.dumps({"items": f"{items[0]}-2"})
    assert failed(fail_dead_letter_messages.handler(delivery(chunk), None)) == []
    tracker.cancel(TENANT, items[0].partition(":")[0])
    for _ in range(2):
        assert failed(fail_dead_letter_messages.handler(delivery(items[0]), None)) == []

    assert bodies(sqs, url) == sorted([chunk, items[0], items[0]])


@pytest.mark.parametrize(("receives", "is_parked"), [(TRIES - 1, False), (TRIES, True), (100, True)])
def test_a_message_that_matches_no_item_leaves_its_queue_at_its_fifth_receive(
    tracker: Tracker, items: list[str], sqs: Any, parked: str, receives: int, is_parked: bool
) -> None:
    """Hidden for hours it would be in flight, and SQS takes 120,000 messages of a queue at a time."""
    stranger = items[0].replace(items[0][:8], "0" * 8)
    response = fail_dead_letter_messages.handler(delivery("?", items[0], stranger, receives=receives), None)

    assert failed(response) == ([] if is_parked else ["message-0", "message-2"])
    assert bodies(sqs, parked) == (sorted(["?", stranger]) if is_parked else [])
    assert tracker.get(TENANT, items[0].partition(":")[0]).failed == 1


def test_a_parked_message_has_its_attributes_and_the_queue_that_it_comes_from(
    tracker: Tracker, sqs: Any, parked: str
) -> None:
    event = delivery("?", receives=TRIES)
    event["Records"][0]["messageAttributes"] = {"shop": {"dataType": "String", "stringValue": "7"}}
    fail_dead_letter_messages.handler(event, None)

    (message,) = received(sqs, parked)
    named = {name: each["StringValue"] for name, each in message["MessageAttributes"].items()}
    assert named == {"shop": "7", "fanin.queueArn": QUEUE, "fanin.messageId": "message-0"}
