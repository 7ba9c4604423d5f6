"""The doorbell on SQS, as moto implements it."""

from __future__ import annotations

import pytest
from botocore.config import Config
from moto import mock_aws

from fanin.errors import InvalidRequest
from fanin.queue import QueueKey, Ring
from fanin.queue.rules.messages import body, ring_of
from fanin.queue.sqs import SqsDoorbell
from tests.contract import moto_clients
from tests.queue.conftest import KEY


@pytest.fixture
def bell():
    with mock_aws():
        client = moto_clients.client("sqs", config=Config(read_timeout=5))
        url = client.create_queue(QueueName="doorbell")["QueueUrl"]
        yield SqsDoorbell(client, url, KEY)


def messages(bell) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    names.append("ApproximateNumberOfMessagesDelayed")
    found = bell.client.get_queue_attributes(QueueUrl=bell.url, AttributeNames=names)["Attributes"]
    return sum(int(value) for value in found.values())


def test_a_ring_is_received_and_deleted(bell):
    bell.ring([Ring(3), Ring(4, due=True)])
    received = bell.wait(5, 10)

    assert sorted(received, key=lambda ring: ring.part) == [Ring(3), Ring(4, due=True)]
    assert messages(bell) == 2
    bell.delete(received)

    assert messages(bell) == 0


def test_refused_entries_are_sent_once_more(bell, monkeypatch):
    sent = []

    def partly(**request):
        sent.append([entry["Id"] for entry in request["Entries"]])
        return {"Failed": [{"Id": "1"}]} if len(sent) == 1 else {}

    monkeypatch.setattr(bell.client, "send_message_batch", partly)
    bell.ring([Ring(0), Ring(1), Ring(2)])

    assert sent == [["0", "1", "2"], ["1"]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "[]",
        "{}",
        '{"tenant": "t", "queue": "q", "part": "x", "due": 0}',
        '{"tenant": "t", "queue": "q", "part": 1e400, "due": 0}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_a_message_that_is_no_ring_is_refused_and_left_where_it_is(bell, text):
    with pytest.raises(InvalidRequest):
        ring_of(KEY, text, "r")
    bell.client.send_message(QueueUrl=bell.url, MessageBody=text or " ")

    assert bell.wait(0, 10) == []
    assert messages(bell) == 1


def test_a_ring_of_another_queue_is_refused():
    with pytest.raises(InvalidRequest):
        ring_of(KEY, body(QueueKey("tenant", "others"), Ring(1)), "r")


def test_a_wait_uses_a_client_of_its_own(bell):
    bell.ring([Ring(3)])
    polls = moto_clients.client("sqs", config=Config(read_timeout=25))
    sent, polled = [], []
    bell.client.meta.events.register("before-send.sqs", lambda event_name, **_: sent.append(event_name))
    polls.meta.events.register("before-send.sqs", lambda event_name, **_: polled.append(event_name))
    waiting = SqsDoorbell(bell.client, bell.url, KEY, polls)
    waiting.ring([Ring(4)])
    waiting.delete(waiting.wait(5, 10))

    assert waiting._longest_poll() == 20
    assert bell._longest_poll() == 4
    assert set(polled) == {"before-send.sqs.ReceiveMessage"}
    assert set(sent) == {"before-send.sqs.SendMessageBatch", "before-send.sqs.DeleteMessageBatch"}


def test_a_worker_hides_a_received_ring_for_two_seconds_whatever_the_doorbell_says(bell):
    asked = []
    bell.client.meta.events.register(
        "provide-client-params.sqs.ReceiveMessage", lambda params, **_: asked.append(params)
    )
    bell.wait(0, 3)

    assert [(each["VisibilityTimeout"], each["MaxNumberOfMessages"]) for each in asked] == [(2, 3)]
