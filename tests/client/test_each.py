"""Deliveries of chunks: what is acked, in how many requests, and what goes again."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from datetime import timedelta

import pytest
from moto import mock_aws

from fanin import Fanin, InvalidRequest, NotFound, StoreUnavailable
from fanin.aws.dynamodb.meter import Meter
from fanin.aws.settings.tracking import Tables
from fanin.client.items import Items
from fanin.client.transports.direct import DirectTransport
from fanin.cost.sizes import size_of
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT
from tests.client.test_consumer import Context
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables, deep_recursion

WRITE_UNIT_BYTES = 1024
UNKNOWN = "00000000-0000-4000-8000-00000000dead"


class Recorded(DirectTransport):
    """A transport over memory that keeps the requests of the consumer."""

    def __init__(self):
        tracker = Tracker(MemoryStore(), page_bits=1024, pause=lambda _: None)
        super().__init__(tracker, TENANT)
        object.__setattr__(self, "asked", [])

    def ack(self, acks, key=None):
        self.asked.append([(ack.first, ack.last, str(ack.outcome), ack.reason) for ack in acks])
        return super().ack(acks, key)

    def left(self, *asked, **more):
        self.asked.append("left")
        return super().left(*asked, **more)


@pytest.fixture
def direct():
    return Recorded()


@pytest.fixture
def fanin(direct):
    return Fanin(direct)


def delivery(*bodies, receives=1, arn="arn:aws:sqs:us-east-1:1:work"):
    counted = {"ApproximateReceiveCount": str(receives)}
    return {
        "Records": [
            {"messageId": f"m{n}", "body": body, "attributes": counted, "eventSourceARN": arn}
            for n, body in enumerate(bodies)
        ]
    }


def returned(response):
    return [each["itemIdentifier"] for each in response["batchItemFailures"]]


def indexes(ranges):
    return [index for items in ranges for index in items.indexes]


def test_a_delivery_of_chunks_is_one_request_of_ranges_and_each_item_has_its_row(fanin, direct):
    batch, seen = fanin.open(), []
    items = batch.add(300)
    rows = [{"n": n} for n in range(300)]
    bodies = [c.message(rows[c.indexes.start : c.indexes.stop]) for c in items.chunks(64)]
    handler = fanin.acks_each(
        lambda item: seen.append((item.index, item.row["n"], item.id == items[item.index]))
    )

    assert returned(handler(delivery(*bodies), None)) == []
    assert seen == [(n, n, True) for n in range(300)]
    assert direct.asked == [
        [(first, min(first + 63, 299), "success", None) for first in range(0, 300, 64)],
    ]
    assert list(batch.outstanding()) == []


def test_what_raises_goes_again_and_the_others_do_not(fanin, direct):
    batch, seen = fanin.open(), Counter()
    body = batch.add(8).message()

    @fanin.acks_each
    def handler(item):
        """Works."""
        seen[item.index] += 1
        if item.index in (2, 5) and seen[item.index] < 3:
            raise ValueError(item.id)

    assert (handler.__name__, handler.__doc__) == ("handler", "Works.")
    assert returned(handler(delivery(body), None)) == ["m0"]
    assert indexes(batch.outstanding()) == [2, 5]
    assert returned(handler(delivery(body, receives=2), None)) == ["m0"]
    assert returned(handler(delivery(body, receives=3), None)) == []
    assert seen == {0: 1, 1: 1, 2: 3, 3: 1, 4: 1, 5: 3, 6: 1, 7: 1}
    assert direct.asked == [
        [(0, 1, "success", None), (3, 4, "success", None), (6, 7, "success", None)],
        "left",
        "left",
        [(5, 5, "success", None)],
        [(2, 2, "success", None)],
    ]


def test_from_fail_after_on_what_raises_is_failed_with_its_reason_and_the_message_is_deleted(fanin, direct):
    batch = fanin.open()
    items = batch.add(6)

    @fanin.acks_each(fail_after=1)
    def handler(item):
        if item.index in (1, 2):
            raise ValueError("no picture")
        if item.index in (4, 5):
            raise ValueError(f"bad {item.index}")

    assert returned(handler(delivery(items.message()), None)) == []
    assert direct.asked == [
        [
            (0, 0, "success", None),
            (1, 2, "failure", "ValueError: no picture"),
            (3, 3, "success", None),
            (4, 4, "failure", "ValueError: bad 4"),
            (5, 5, "failure", "ValueError: bad 5"),
        ]
    ]
    assert {(s.item_id, s.reason) for s in batch.samples()} >= {(items[4], "ValueError: bad 4")}
    assert indexes(batch.failures()) == [1, 2, 4, 5]


def test_a_failed_item_is_healed_by_a_redelivery(fanin):
    batch = fanin.open()
    items, seen = batch.add(4), []
    fanin.fail(items[2:3]), fanin.ack(items[0:1])
    handler = fanin.acks_each(lambda item: seen.append(item.index))

    assert returned(handler(delivery(items.message(), receives=2), None)) == []
    assert seen == [1, 2, 3]
    assert (batch.status().acked, batch.status().failed) == (4, 0)


def test_an_item_that_ends_the_process_is_alone_after_two_redeliveries(fanin):
    """Forward at the second receive, backward at the third: all others are done by then."""
    batch, worked = fanin.open(), Counter()
    items = batch.add(64)
    body = items.message()

    @fanin.acks_each
    def handler(item):
        if item.index == 40:
            raise SystemExit
        worked[item.index] += 1

    for receives in (1, 2, 3):
        with pytest.raises(SystemExit):
            handler(delivery(body, receives=receives), None)

    assert indexes(batch.outstanding()) == [40]
    assert max(worked.values()) == 2
    dead = {
        "messageId": "d",
        "body": body,
        "attributes": {"DeadLetterQueueSourceArn": "arn:aws:sqs:x:1:work"},
    }
    assert fanin.dead_letter_handler()({"Records": [dead]}, None) == {"batchItemFailures": []}
    assert indexes(batch.failures()) == [40]
    assert batch.samples()[0].reason == "dead-letter message of work"


def test_items_between_two_that_end_the_process_are_done_at_the_fourth_receive(fanin):
    """Forward, backward, then from the middle of what is left."""
    batch = fanin.open()
    body = batch.add(16).message()

    @fanin.acks_each
    def handler(item):
        if item.index in (2, 11):
            raise SystemExit

    for receives in (1, 2, 3, 4):
        with pytest.raises(SystemExit):
            handler(delivery(body, receives=receives), None)

    assert indexes(batch.outstanding()) == [2, 11]


def test_without_an_answer_to_an_ack_no_further_item_of_a_redelivery_is_started(fanin, direct, monkeypatch):
    batch, seen = fanin.open(), []
    body = batch.add(4).message()

    def unavailable(self, acks, key=None):
        raise StoreUnavailable("the store is busy")

    handler = fanin.acks_each(lambda item: seen.append(item.index))
    with monkeypatch.context() as patch:
        patch.setattr(Recorded, "ack", unavailable)
        assert returned(handler(delivery(body, receives=2), None)) == ["m0"]
    assert seen == [0]
    assert returned(handler(delivery(body, receives=3), None)) == []
    assert seen == [0, 3, 2, 1, 0]


def test_a_fifo_queue_keeps_its_order_at_every_receive(fanin):
    seen = []
    body = fanin.open().add(4).message()
    handler = fanin.acks_each(lambda item: seen.append(item.index))
    handler(delivery(body, receives=3, arn="arn:aws:sqs:us-east-1:1:work.fifo"), None)

    assert seen == [0, 1, 2, 3]


def test_an_item_that_was_handed_over_finds_its_child_again_if_the_message_returns(fanin):
    batch, children = fanin.open(), []
    items = batch.add(3)

    @fanin.acks_each
    def handler(item):
        if item.index == 0:
            children.append(fanin.open(parent=item.id).id)
        if item.index == 1 and len(children) == 1:
            raise ValueError("not yet")

    assert returned(handler(delivery(items.message()), None)) == ["m0"]
    assert returned(handler(delivery(items.message(), receives=2), None)) == []
    assert len(children) == 2
    assert len(set(children)) == 1
    assert indexes(batch.outstanding()) == [0]


def test_out_of_time_the_rest_returns_and_what_is_done_is_acked(fanin, caplog):
    batch, seen = fanin.open(), []
    first, second = (chunk.message() for chunk in batch.add(8).chunks(4))
    handler = fanin.acks_each(lambda item: seen.append(item.index))

    assert returned(handler(delivery(first, second), Context(5_000, 1_999, 1_999))) == ["m0", "m1"]
    assert seen == [0, 1]
    assert indexes(batch.outstanding()) == [2, 3, 4, 5, 6, 7]
    assert "no time is left" in caplog.text


def test_items_of_a_batch_that_is_over_are_skipped_also_in_the_midst_of_a_chunk(fanin, direct, caplog):
    batch, seen = fanin.open(), []
    body = batch.add(8).message()

    @fanin.acks_each
    def handler(item):
        seen.append(item.index)
        if item.index == 2:
            batch.cancel()

    direct.tracker.fresh_for *= 0
    assert returned(handler(delivery(body), None)) == []
    assert returned(handler(delivery(body, receives=2), None)) == []
    assert seen == [0, 1, 2]
    assert "deleted without work" in caplog.text


@pytest.mark.parametrize("receives", [1, 2])
def test_a_chunk_of_no_batch_returns_without_work(fanin, receives):
    items = fanin.open().add(4)
    foreign = Items(UNKNOWN, items.group_id, 4).message()
    other = Items(fanin.open().id, items.group_id, 4).message()
    seen = []
    handler = fanin.acks_each(lambda item: seen.append(item.index))

    assert returned(handler(delivery(foreign, receives=receives), None)) == ["m0"]
    assert seen == []
    assert returned(handler(delivery(other, receives=2), None)) == ["m0"]
    assert seen == []


@pytest.mark.parametrize("body", ["", "x", "{}", '{"items": "x"}', '{"items": 5}', "[]"])
def test_a_message_that_is_no_chunk_returns_alone(fanin, body, caplog):
    batch = fanin.open()
    handler = fanin.acks_each(lambda item: None)

    assert returned(handler(delivery(body, batch.add(2).message()), None)) == ["m0"]
    assert "message m0 cannot be worked on, and returns to the queue: " in caplog.text
    assert list(batch.outstanding()) == []


def test_a_chunk_with_rows_of_another_number_is_reported_with_both(fanin, caplog):
    body = json.loads(fanin.open().add(3).message()) | {"rows": [1, 2]}

    assert returned(fanin.acks_each(lambda item: None)(delivery(json.dumps(body)), None)) == ["m0"]
    assert "the message has 3 items, and 2 rows" in caplog.text


def test_a_chunk_for_a_consumer_of_single_items_names_the_other_one(fanin, caplog):
    body = fanin.open().add(3).message()

    assert returned(fanin.acks(lambda record: None)(delivery(body), None)) == ["m0"]
    assert "its consumer is @fanin.acks_each" in caplog.text


def test_an_item_that_a_function_fails_and_that_no_batch_has_is_reported(fanin, caplog):
    items = fanin.open().add(1)
    wrong = items[0].rpartition(":")[0] + ":7"

    fanin.fail([wrong])
    assert not caplog.records
    handler = fanin.acks(lambda record: fanin.fail([wrong], "no picture"))
    assert returned(handler(delivery(items[0]), None)) == []
    assert f"item {wrong} is in no batch of this tenant (out_of_range): it was not acked" in caplog.text


def test_messages_of_one_item_are_worked_on_beside_chunks(fanin):
    batch, rows = fanin.open(), []
    single = json.dumps({"itemId": batch.add(1)[0], "record": {"a": 1}})
    handler = fanin.acks_each(lambda item: rows.append(item.row))

    assert returned(handler(delivery(single, batch.add(2).message(["b", "c"])), None)) == []
    assert rows == [{"a": 1}, "b", "c"]


def test_an_estimated_batch_does_not_know_what_is_left_and_works_on_all(fanin):
    batch, seen = fanin.open(mode="estimated"), []
    handler = fanin.acks_each(lambda item: seen.append(item.index))
    handler(delivery(batch.add(3).message(), receives=2), None)

    assert seen == [0, 1, 2]


@pytest.mark.parametrize("work", [None, 5, "x"])
def test_a_function_is_decorated_and_one_that_does_no_work_is_refused(fanin, work):
    async def later(item):
        """Does no work when it is called."""

    with pytest.raises(InvalidRequest):
        fanin.acks_each(fail_after=2)(work if work is not None else later)
    with pytest.raises(InvalidRequest):
        fanin.acks_each(fail_after=0)


@pytest.mark.parametrize("receives", [1, 2])
def test_an_item_beyond_its_group_returns_alone(fanin, receives):
    items, seen = fanin.open().add(2), []
    beyond = json.dumps({"itemId": f"{items.batch_id}:{items.group_id}:7", "record": 7})
    handler = fanin.acks_each(lambda item: seen.append(item.row))

    event = delivery(beyond, json.dumps({"itemId": items[0], "record": 0}), receives=receives)

    assert (returned(handler(event, None)), seen) == (["m0"], [0])


def test_the_transport_refuses_what_no_chunk_can_be(fanin):
    with pytest.raises(NotFound):
        fanin._transport.left(UNKNOWN, UNKNOWN, 0, 1)


def test_over_http_a_delivery_is_a_look_and_one_request(over_http, service):
    batch = over_http.open()
    bodies = [chunk.message() for chunk in batch.add(8).chunks(4)]
    del service.seen[:]
    handler = over_http.acks_each(lambda item: None)

    assert returned(handler(delivery(*bodies), None)) == []
    assert [request.method for request in service.seen] == ["GET", "POST"]
    assert returned(handler(delivery(*bodies, receives=2), None)) == []
    assert list(batch.outstanding()) == []


@pytest.mark.parametrize(("chunk", "reads"), [(64, 0), (115, 0), (256, 1)])
def test_a_chunk_of_neighbours_is_one_write_unit_by_the_meter(chunk, reads, caplog):
    """64 items of one page: 1.0 write; up to 115 anywhere in a page; more take a read, too."""
    with mock_aws(), deep_recursion():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        store = DynamoStore(client, Tables(*TABLES), pause=lambda _: None)
        fanin = Fanin(DirectTransport(Tracker(store, fresh_for=timedelta(hours=1)), TENANT))
        items = fanin.open().add(1024)
        bodies = [items[first : first + chunk].message() for first in range(5, 1024 - chunk, chunk)]
        handler = fanin.acks_each(lambda item: None)
        handler(delivery(items[1023:].message()), None)
        meter = Meter().attach(client)
        for body in bodies:
            assert returned(handler(delivery(body), None)) == []
        sizes = [size_of(row) for row in client.scan(TableName=TABLES[1])["Items"]]

    assert max(sizes) <= WRITE_UNIT_BYTES
    assert meter.totals["UpdateItem"] == len(bodies)
    assert meter.totals["BatchGetItem"] == reads * len(bodies)
    assert meter.totals["requests"] == (1 + reads) * len(bodies) + 1  # and the scan
    ours = [record for record in caplog.records if record.thread == threading.get_ident()]
    assert [record for record in ours if record.levelno >= logging.WARNING] == []
