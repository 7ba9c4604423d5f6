"""The meter counts what is sent, and what it is charged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from moto import mock_aws

from fanin.aws.dynamodb.meter import Meter
from fanin.aws.settings.tracking import Tables
from fanin.tracker import BatchKey
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PageMasks
from tests.contract import moto_clients
from tests.contract.tables import TABLES, create_tables

LEAF = PageKey(BatchKey("t", "b"), 0, 0)
LATER = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def metered():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        meter = Meter().attach(client)
        yield DynamoStore(client, Tables(*TABLES)), meter


def test_every_request_is_counted_by_its_kind(metered):
    store, meter = metered
    store.add_bits(LEAF, PageMasks(1), LATER)
    store.add_bits(LEAF, PageMasks(2), LATER)
    store.get(LEAF.batch)

    assert (meter.totals["requests"], meter.totals["UpdateItem"], meter.totals["GetItem"]) == (3, 2, 1)


def test_refused_writes_are_counted_apart(metered):
    store, meter = metered
    store.add_bits(LEAF, PageMasks(1), LATER)
    store.add_bits(LEAF, PageMasks(1), LATER)

    assert meter.totals["refused"] == 1


def test_units_are_what_the_table_reports(metered):
    store, meter = metered
    store.add_bits(LEAF, PageMasks(1), LATER)

    assert meter.totals["write_units"] > 0
    assert meter.totals["read_units"] == 0


def test_what_was_taken_is_not_taken_again(metered):
    store, meter = metered
    store.add_bits(LEAF, PageMasks(1), LATER)

    assert meter.take("requests") == 1
    assert meter.take("requests") == 0
    store.add_bits(LEAF, PageMasks(2), LATER)
    assert meter.take("requests") == 1
