"""What is kept of a dead-letter message, on SQS as moto has it."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

import pytest

from fanin.aws.messaging.kept_messages import ATTRIBUTES_MAX, BYTES_MAX, kept_message
from fanin.aws.messaging.move_to_queue import Isolation
from tests.functions.deliveries import delivery

ITEM = "item"
FACTS = ["fanin.itemId", "fanin.queueArn", "fanin.messageId"]
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:dead.fifo"


def record(body: str = "café", **attributes: Any) -> dict[str, Any]:
    (received,) = delivery(body, queue=QUEUE)["Records"]
    return {**received, "messageAttributes": attributes}


def text(value: str) -> dict[str, Any]:
    return {"dataType": "String", "stringValue": value}


def kept(given: dict[str, Any]) -> dict[str, Any]:
    return kept_message(given, lambda _: ITEM)


def test_body_and_attributes_are_those_of_the_message(sqs: Any) -> None:
    url = sqs.create_queue(QueueName="kept")["QueueUrl"]
    raw = {"dataType": "Binary.png", "binaryValue": base64.b64encode(b"\x00\xff").decode()}
    given = record(number={"dataType": "Number", "stringValue": "1"}, raw=raw)
    given["attributes"]["MessageGroupId"] = "group"
    sent = Isolation(sqs, url, partial(kept_message, item_id_of=lambda _: ITEM)).isolate([given])
    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    attributes = message["MessageAttributes"]

    assert sent == ["message-0"]
    assert message["Body"] == "café"
    assert (attributes["number"]["DataType"], attributes["number"]["StringValue"]) == ("Number", "1")
    assert (attributes["raw"]["DataType"], attributes["raw"]["BinaryValue"]) == ("Binary.png", b"\x00\xff")
    added = {name: each["StringValue"] for name, each in attributes.items() if name.startswith("fanin.")}
    assert added == {
        "fanin.itemId": ITEM,
        "fanin.queueArn": QUEUE,
        "fanin.messageGroupId": "group",
        "fanin.messageId": "message-0",
    }


@pytest.mark.parametrize("count", range(ATTRIBUTES_MAX + 1))
def test_a_message_has_at_most_ten_attributes(count: int) -> None:
    own = {f"a{number}": text("x") for number in range(count)}
    names = list(kept(record(**own))["MessageAttributes"])

    assert names == [*own, *FACTS[: ATTRIBUTES_MAX - count]]


@pytest.mark.parametrize("room", [0, 25, 30, 10_000])
def test_nothing_is_added_beyond_the_size_of_a_message(room: int) -> None:
    message = kept(record("x" * (BYTES_MAX - room)))
    attributes = message["MessageAttributes"]
    size = sum(len(name + each["DataType"] + each["StringValue"]) for name, each in attributes.items())

    assert len(message["MessageBody"]) + size <= BYTES_MAX
    assert bool(attributes) == (room >= 25)


def test_a_larger_message_is_kept_as_it_is() -> None:
    assert kept(record("x" * (BYTES_MAX + 1)))["MessageAttributes"] == {}


def test_an_attribute_of_the_same_name_stays() -> None:
    assert kept(record(**{"fanin.itemId": text("mine")}))["MessageAttributes"]["fanin.itemId"][
        "StringValue"
    ] == ("mine")
