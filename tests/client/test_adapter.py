"""Messages that cannot be matched to an item: they come back after growing pauses, and are logged once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from fanin import Fanin
from fanin.aws import clients
from fanin.client.consuming.adapter import (
    LONGEST_PAUSE_IN_ORDER_SECONDS,
    LONGEST_PAUSE_SECONDS,
    Adapter,
    pause_of,
)
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.transports.direct import DirectTransport
from fanin.errors import StoreUnavailable
from fanin.isolating import TRIES
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from tests.functions.deliveries import delivery

TENANT = "t"
UNKNOWN = "00000000-0000-4000-8000-00000000dead:00000000-0000-4000-8000-00000000dead:0"
DEAD = "arn:aws:sqs:eu-west-1:111122223333:orders-dead"
TWO_WEEKS = 14 * 24 * 3600


class Hidden:
    """Remembers what was to be hidden."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, int]]] = []

    def __call__(self, queue: str, pauses: Any) -> None:
        self.asked.append((queue, dict(pauses)))


@pytest.fixture
def tracker() -> Tracker:
    return Tracker(MemoryStore(), page_bits=8)


@pytest.fixture
def item(tracker: Tracker) -> str:
    batch = tracker.open(TENANT, OpenBatch()).batch_id
    return f"{batch}:{tracker.add(TENANT, batch, 1).groups[0].id}:0"


def adapter(tracker: Tracker, hidden: Hidden, tenant: str = TENANT) -> Adapter:
    transport = DirectTransport(tracker, tenant)
    return Adapter(transport, ack_of=dead_letter_message_ack, hide=hidden, chance=lambda: 0.0)


def test_a_matched_message_is_deleted_and_the_others_go_back_with_a_pause(
    tracker: Tracker, item: str
) -> None:
    hidden = Hidden()
    settled = adapter(tracker, hidden).settle(delivery(item, UNKNOWN, "?", queue=DEAD))

    assert sorted(settled.failed) == ["message-1", "message-2"]
    assert [record["messageId"] for record, _ in settled.acked] == ["message-0"]
    assert settled.dropped == []
    assert hidden.asked == [(DEAD, {"receipt-1": 60, "receipt-2": 60})]


def test_a_delivery_of_matched_messages_hides_none(tracker: Tracker, item: str) -> None:
    hidden = Hidden()
    adapter(tracker, hidden).settle(delivery(item, item, queue=DEAD))

    assert hidden.asked == []


def test_messages_of_a_store_out_of_reach_go_back_as_their_queue_has_it(
    tracker: Tracker, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise StoreUnavailable("the store is busy; ask again")

    monkeypatch.setattr(tracker, "ack", down)
    hidden = Hidden()

    assert adapter(tracker, hidden).settle(delivery(item, queue=DEAD)).failed == ["message-0"]
    assert hidden.asked == []


def test_a_delivery_has_one_line_of_what_goes_back(
    tracker: Tracker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="fanin"):
        adapter(tracker, Hidden()).settle(delivery(*[UNKNOWN] * 30, *["?"] * 20, receives=3, queue=DEAD))

    assert [record.getMessage() for record in caplog.records] == [
        "50 messages return to the queue: 20 name no item, 30 an item that is in no batch of this tenant"
    ]
    assert vars(caplog.records[0])["returned"][0] == {"messageId": "message-30", "receives": 3}


@pytest.mark.parametrize("longest", [LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_IN_ORDER_SECONDS])
def test_pauses_double_to_a_bound_and_are_jittered(longest: int) -> None:
    pauses = [pause_of(times, longest, 0.0) for times in range(1, 1000)]

    assert pauses[:4] == [60, 120, 240, 480]
    assert pauses == sorted(pauses)
    assert pauses[-1] == longest
    assert [pause_of(times, longest, 1.0) for times in range(1, 1000)] == [each // 2 for each in pauses]


def test_an_unmatched_message_is_delivered_fewer_than_100_times_in_two_weeks() -> None:
    at, deliveries = 0, 0
    while at < TWO_WEEKS:
        deliveries += 1
        at += pause_of(deliveries, LONGEST_PAUSE_SECONDS, 0.5)

    assert deliveries < 100


def test_a_message_in_order_holds_up_its_group_for_minutes_only(tracker: Tracker) -> None:
    hidden = Hidden()
    adapter(tracker, hidden).settle(delivery(UNKNOWN, receives=50, queue=f"{DEAD}.fifo"))

    assert hidden.asked == [(f"{DEAD}.fifo", {"receipt-0": LONGEST_PAUSE_IN_ORDER_SECONDS})]


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """SQS as moto plays it, for the clients of this process too."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        clients.sqs.cache_clear()
        yield boto3.client("sqs")
        clients.sqs.cache_clear()


def test_the_users_own_dead_letter_handler_hides_what_it_cannot_match(tracker: Tracker, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="orders-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sqs.send_message(QueueUrl=url, MessageBody=UNKNOWN)
    (message,) = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)["Messages"]
    event = delivery(message["Body"], queue=arn)
    event["Records"][0]["receiptHandle"] = message["ReceiptHandle"]

    answer = Fanin(DirectTransport(tracker, TENANT)).dead_letter_handler()(event, None)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


def isolating(tracker: Tracker, hidden: Hidden, accepts: int) -> tuple[Adapter, list[str]]:
    """An adapter whose dead-letter queue accepts that many messages, and the bodies that were sent to it."""
    dead: list[str] = []

    def isolate(records: Any) -> list[str]:
        sent = [record["messageId"] for record in records[:accepts]]
        dead.extend(record["body"] for record in records[:accepts])
        return sent

    transport = DirectTransport(tracker, TENANT)
    ack_of = dead_letter_message_ack
    return Adapter(transport, ack_of=ack_of, hide=hidden, isolate=isolate, chance=lambda: 0.0), dead


@pytest.mark.parametrize(("receives", "isolated"), [(1, 0), (TRIES - 1, 0), (TRIES, 2), (119, 2)])
def test_a_message_that_matches_nothing_is_isolated_at_its_fifth_receive(
    tracker: Tracker, item: str, receives: int, isolated: int
) -> None:
    hidden = Hidden()
    subject, dead = isolating(tracker, hidden, accepts=10)

    settled = subject.settle(delivery(item, UNKNOWN, "?", receives=receives, queue=DEAD))

    assert len(dead) == isolated
    assert len(settled.failed) == 2 - isolated
    assert len(settled.unmatched) == (0 if isolated else 1)
    assert bool(hidden.asked) == (not isolated)


def test_a_message_that_the_dead_letter_queue_did_not_accept_returns(tracker: Tracker) -> None:
    hidden = Hidden()
    subject, dead = isolating(tracker, hidden, accepts=1)

    settled = subject.settle(delivery("?", UNKNOWN, receives=TRIES, queue=DEAD))

    assert dead == ["?"]
    assert settled.failed == ["message-1"]
    assert [pauses.keys() for _, pauses in hidden.asked] == [{"receipt-1"}]


def test_a_valid_ack_is_never_isolated_however_often_it_was_received(
    tracker: Tracker, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise StoreUnavailable("the store is busy; ask again")

    monkeypatch.setattr(tracker, "ack", down)
    subject, dead = isolating(tracker, Hidden(), accepts=10)

    assert subject.settle(delivery(item, receives=119, queue=DEAD)).failed == ["message-0"]
    assert dead == []
