"""Deliveries of chunks: what is acked, in how many requests, and what goes again."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest
from moto import mock_aws

from fanin import Fanin
from fanin.aws.dynamodb.meter import Meter
from fanin.client.transports.direct import DirectTransport
from fanin.cost.sizes import size_of
from fanin.settings.tracking import Tables
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event
from tests.client.test_consumer import Context
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables, deep_recursion

WRITE_UNIT_BYTES = 1024


class Recorded(DirectTransport):
    """A transport over memory that keeps the requests of the consumer."""

    def __init__(self):
        tracker = Tracker(MemoryStore(), page_bits=1024, pause=lambda _: None)
        super().__init__(tracker, TENANT)
        object.__setattr__(self, "asked", [])

    def ack(self, acks, key=None):
        self.asked.append([(ack.first, ack.last, str(ack.outcome), ack.reason) for ack in acks])
        return super().ack(acks, key)

    def outstanding_of(self, *asked, **more):
        self.asked.append("outstanding_of")
        return super().outstanding_of(*asked, **more)


@pytest.fixture
def direct():
    return Recorded()


@pytest.fixture
def fanin(direct):
    return Fanin(direct)


def returned(response):
    return [each["itemIdentifier"] for each in response["batchItemFailures"]]


def indexes(ranges):
    return [index for items in ranges for index in items.indexes]


def test_from_fail_after_on_what_raises_is_failed_with_its_reason_and_the_message_is_deleted(fanin, direct):
    batch = fanin.open()
    items = batch.add(6)

    @fanin.acks_each(fail_after=1)
    def handler(item):
        if item.index in (1, 2):
            raise ValueError("no picture")
        if item.index in (4, 5):
            raise ValueError(f"bad {item.index}")

    assert returned(handler(sqs_event(items.message()), None)) == []
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


def test_out_of_time_the_rest_returns_and_what_is_done_is_acked(fanin, caplog):
    batch, seen = fanin.open(), []
    first, second = (chunk.message() for chunk in batch.add(8).chunks(4))
    handler = fanin.acks_each(lambda item: seen.append(item.index))

    assert returned(handler(sqs_event(first, second), Context(5_000, 1_999, 1_999))) == ["m0", "m1"]
    assert seen == [0, 1]
    assert indexes(batch.outstanding()) == [2, 3, 4, 5, 6, 7]
    assert "no time is left" in caplog.text


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
        handler(sqs_event(items[1023:].message()), None)
        meter = Meter().attach(client)
        for body in bodies:
            assert returned(handler(sqs_event(body), None)) == []
        sizes = [size_of(row) for row in client.scan(TableName=TABLES[1])["Items"]]

    assert max(sizes) <= WRITE_UNIT_BYTES
    assert meter.totals["UpdateItem"] == len(bodies)
    assert meter.totals["BatchGetItem"] == reads * len(bodies)
    assert meter.totals["requests"] == (1 + reads) * len(bodies) + 1  # and the scan
    ours = [record for record in caplog.records if record.thread == threading.get_ident()]
    assert [record for record in ours if record.levelno >= logging.WARNING] == []
