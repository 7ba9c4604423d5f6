"""Messages that are sent to a dead-letter queue, on SQS as moto plays it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from fanin.aws.messaging.move_to_queue import Isolation
from tests.functions.deliveries import delivery
from tests.request_rules.hook import expected


@pytest.fixture
def url(sqs: Any) -> str:
    return str(sqs.create_queue(QueueName="acks-dead")["QueueUrl"])


def test_bodies_are_sent_as_they_were(sqs: Any, url: str) -> None:
    sent = Isolation(sqs, url).isolate(delivery("{", "café")["Records"])
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]

    assert sent == ["message-0", "message-1"]
    assert sorted(each["Body"] for each in received) == ["café", "{"]


def test_a_refused_message_does_not_stop_the_others(
    sqs: Any, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    too_long = "x" * (2**20 + 1)
    with caplog.at_level(logging.WARNING, logger="fanin"), expected():
        sent = Isolation(sqs, url).isolate(delivery("a", too_long, "b")["Records"])

    assert sent == ["message-0", "message-2"]
    assert "message message-1 was not sent to another queue" in caplog.text


def test_nothing_is_sent_after_a_request_that_failed(url: str, caplog: pytest.LogCaptureFixture) -> None:
    class Down:
        requests = 0

        def send_message(self, **_: Any) -> dict[str, Any]:
            self.requests += 1
            if self.requests > 1:
                raise EndpointConnectionError(endpoint_url=url)
            return {}

    down: Any = Down()
    with caplog.at_level(logging.WARNING, logger="fanin"):
        assert Isolation(down, url).isolate(delivery(*"abcd")["Records"]) == ["message-0"]

    assert down.requests == 2
    assert "3 messages were not sent to another queue" in caplog.text
