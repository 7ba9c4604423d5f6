"""Hidden messages, on SQS as moto plays it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from fanin.aws.messaging.visibility import Visibility
from tests.request_rules.hook import expected

WINDOW = 43_200


def queue_of(sqs: Any, messages: int) -> tuple[str, str]:
    """A queue of *messages*: its URL and its ARN."""
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    for number in range(messages):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return url, arn


def received(sqs: Any, url: str) -> dict[str, str]:
    """Receipt handle by body of all that can be received, up to twenty."""
    answers = [sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10) for _ in range(2)]
    return {each["Body"]: each["ReceiptHandle"] for answer in answers for each in answer.get("Messages", [])}


def test_messages_are_hidden_for_their_pauses_ten_a_request(sqs: Any) -> None:
    url, arn = queue_of(sqs, 15)
    receipts = received(sqs, url)
    requests: list[int] = []
    sqs.meta.events.register(
        "provide-client-params.sqs.ChangeMessageVisibilityBatch",
        lambda params, **_: requests.append(len(params["Entries"])),
    )

    pauses = {receipt: 0 if body == "3" else 600 for body, receipt in receipts.items()}
    Visibility(sqs).hide(arn, pauses)

    assert requests == [10, 5]
    assert received(sqs, url).keys() == {"3"}


def test_what_cannot_be_hidden_is_logged_and_ends_nothing(sqs: Any, caplog: pytest.LogCaptureFixture) -> None:
    url, arn = queue_of(sqs, 1)
    (receipt,) = received(sqs, url).values()
    with caplog.at_level(logging.WARNING, logger="fanin"), expected():
        Visibility(sqs).hide(arn, {receipt: WINDOW + 1})
        Visibility(sqs).hide(arn.replace("dead", "gone"), {receipt: 1})

    first, second = (record.getMessage() for record in caplog.records)
    assert arn in first
    assert "gone was not changed" in second
