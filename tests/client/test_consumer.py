"""Deliveries: items whose work is done are acked in one request, the other messages return to the queue."""

from __future__ import annotations

import json
from random import Random

import pytest

from fanin import Fanin, InvalidRequest, StoreUnavailable, Verdict
from fanin.client.consuming.answering import answers_of
from fanin.client.consuming.records import item_id_of
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.reports import AckReport, ItemVerdict
from fanin.testing import FakeFanin
from fanin.tracker import Ack, Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event

UNKNOWN = "00000000-0000-4000-8000-00000000dead"
FORGED = f"{UNKNOWN}:{UNKNOWN}:0"


class Context:
    """Returns the next of the milliseconds *remaining* at each call."""

    def __init__(self, *remaining):
        self.remaining = list(remaining)

    def get_remaining_time_in_millis(self):
        return self.remaining.pop(0)


@pytest.fixture
def fanin():
    return Fanin(DirectTransport(Tracker(MemoryStore(), page_bits=1024, pause=lambda _: None), TENANT))


def failures(*message_ids):
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


@pytest.mark.parametrize(
    "body", ["", "nothing", "{", "{}", '{"itemId": 7}', '{"itemId": "x"}', "[" * 100_000, '{"a":' * 100_000]
)
def test_a_message_without_an_item_goes_back_alone_and_its_work_is_not_begun(fanin, body):
    items = fanin.open().add(2)
    seen = []
    handler = fanin.acks(seen.append)

    assert handler(sqs_event(items[0], body, items[1]), None) == failures("m1")
    assert [record["messageId"] for record in seen] == ["m0", "m2"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_is_not_swallowed(fanin, error):
    items = fanin.open().add(1)

    def handle(record):
        raise error

    with pytest.raises(error):
        fanin.acks(handle)(sqs_event(*items), None)


def test_no_record_is_started_without_time_to_finish_it(fanin, caplog):
    batch = fanin.open()
    items = batch.add(4)
    seen = []
    handler = fanin.acks(margin_seconds=1.5)(seen.append)
    response = handler(sqs_event(*items), Context(2000, 1500, 1499))

    assert response == failures("m3")
    assert [record["messageId"] for record in seen] == ["m0", "m1", "m2"]
    assert batch.status().acked == 3
    assert (
        "no time left: 1.5 s of the invocation, and margin_seconds is 1.5: 1 messages return" in caplog.text
    )


def test_an_item_may_be_found_in_a_way_of_ones_own(fanin, caplog):
    batch = fanin.open()
    items = batch.add(2)

    @fanin.acks(item_id=lambda record: json.loads(record["body"])["deep"]["item"])
    def handle(record):
        """Work."""

    response = handle(sqs_event({"deep": {"item": items[0]}}, {"itemId": items[1]}), None)

    assert response == failures("m1")
    assert "message m1" in caplog.records[0].getMessage()
    assert caplog.records[0].reason == "KeyError"
    assert batch.status().acked == 1


def record(body="", attribute=None):
    attributes = {"itemId": {"stringValue": attribute, "dataType": "String"}} if attribute else {}
    return {"messageId": "m", "body": body, "messageAttributes": attributes}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (record('{"itemId": "a", "more": 1}', "b"), "a"),
        (record(' \n{"itemId": "a"}\n'), "a"),
        (record(FORGED, "b"), FORGED),
        (record(f" {FORGED}\n"), FORGED),
        (record("free text", "b"), "b"),
        (record('{"sku": 7}', "b"), "b"),
        (record('{"itemId": 7}', "b"), "b"),
        (record('{"broken', "b"), "b"),
        (record("", "b"), "b"),
        ({"messageId": "m", "body": FORGED}, FORGED),
        ({"messageId": "m", "body": FORGED, "messageAttributes": None}, FORGED),
    ],
)
def test_an_item_is_looked_for_in_the_body_then_in_the_attributes(given, found):
    assert item_id_of(given) == found


class Requests:
    """Keeps the items of each request; that of item 0 is lost."""

    def __init__(self, loses: bool = False) -> None:
        self.loses, self.items = loses, []

    def __call__(self, acks, key):
        self.items.append([ack.first for ack in acks])
        if self.loses and acks[0].first == 0:
            raise StoreUnavailable("lost")
        return AckReport(tuple(ItemVerdict(str(ack.first), Verdict.ACCEPTED) for ack in acks), ())


def delivery(count):
    numbers = Random(1).sample(range(count), count)
    return [({"messageId": str(number)}, Ack("b", "g", number, number, "me")) for number in numbers]


def test_each_request_of_a_large_delivery_has_neighbours():
    requests, named = Requests(), delivery(3_000)

    answers = answers_of(requests, named)

    assert requests.items == [list(range(first, first + 1_000)) for first in (0, 1_000, 2_000)]
    assert [(each.record, each.ack) for each in answers] == named


def test_the_answers_of_a_lost_request_are_those_of_its_items():
    answers = answers_of(Requests(loses=True), delivery(3_000))

    assert {each.ack.first for each in answers if each.counts is None} == set(range(1_000))


HANDLERS = {
    "acks": lambda fanin: fanin.acks(lambda _: None),
    "acks_each": lambda fanin: fanin.acks_each(lambda _: None),
    "dead_letter_handler": lambda fanin: fanin.dead_letter_handler(),
    "a queue's answer": lambda fanin: lambda *invocation: fanin.queue("q").answer(*invocation).__enter__(),
}
WITHOUT_RECORDS = r'\{"Records": \[\.\.\.\]\}'
FOREIGN = [
    (None, WITHOUT_RECORDS),
    ({}, WITHOUT_RECORDS),
    ({"requestContext": {}, "body": "{}"}, WITHOUT_RECORDS),
    ({"Records": FORGED}, WITHOUT_RECORDS),
    ({"Records": [FORGED]}, "record 0 is no object"),
    ({"Records": [{"MessageId": "m1", "Body": FORGED}]}, "record 0 has MessageId.* rename them"),
    ({"Records": [{"EventSource": "aws:sns", "Sns": {}}]}, "record 0 has no text as its messageId"),
    ({"Records": [{"messageId": "m1", "body": {"itemId": FORGED}}]}, "record 0 has no text as its body"),
    (
        {"Records": [{"messageId": "m1", "body": FORGED, "attributes": {"ApproximateReceiveCount": "x"}}]},
        "ApproximateReceiveCount",
    ),
]


@pytest.mark.parametrize("decorated", HANDLERS)
@pytest.mark.parametrize(("event", "refusal"), FOREIGN)
def test_what_is_no_event_of_sqs_is_refused_with_what_is_wrong(decorated, event, refusal):
    with pytest.raises(InvalidRequest, match=refusal):
        HANDLERS[decorated](FakeFanin())(event, None)
