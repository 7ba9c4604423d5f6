"""The meter counts what is sent, and what it is charged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from moto import mock_aws

from fanin.aws.dynamodb.meter import Meter
from fanin.settings.tracking import Tables
from fanin.tracker import BatchKey
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page, PageMasks
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


def test_requests_are_counted_by_kind_with_refused_writes_and_the_units_that_the_table_reports(metered):
    store, meter = metered
    for mask in (1, 1, 2):
        store.add_bits(LEAF, PageMasks(mask), LATER)

    assert (meter.totals["requests"], meter.totals["UpdateItem"], meter.totals["refused"]) == (3, 3, 1)
    assert (meter.totals["write_units"] > 0, meter.totals["read_units"]) == (True, 0)
    store.get(LEAF.batch)
    assert (meter.totals["requests"], meter.totals["GetItem"]) == (4, 1)


def test_rows_that_are_inserted_in_one_request_are_units_of_writes(metered):
    store, meter = metered
    store.create_pages({LEAF: Page(1, 1)}, LATER)

    assert (meter.totals["requests"], meter.totals["BatchExecuteStatement"]) == (1, 1)
    assert store.pages([LEAF]) == {LEAF: Page(1, 1)}


def test_what_was_taken_is_not_taken_again(metered):
    store, meter = metered
    for mask in (1, 2):
        store.add_bits(LEAF, PageMasks(mask), LATER)

        assert [meter.take("requests"), meter.take("requests")] == [1, 0]
