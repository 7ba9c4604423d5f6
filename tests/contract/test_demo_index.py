"""The counters of the demo's index, which every worker adds to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.demo.index import Index
from tests.contract import engines

TABLE = "DemoIndex"
NAMES = ["deliveries", "faults", "registrations", "jobs", "acks", "repeats", "writeUnits", "ackUnits"]


def create_index_table(client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


@pytest.fixture
def index() -> Iterator[Index]:
    with engines.emptied():
        yield Index(engines.client(create_index_table), TABLE)


def test_workers_add_to_the_counters_of_a_batch(index):
    for _ in range(2):
        index.count("b", {name: at + 0.5 for at, name in enumerate(NAMES)})

    row = index.client.get_item(TableName=TABLE, Key={"pk": {"S": "run#b"}}, ConsistentRead=True)["Item"]
    assert [float(row[name]["N"]) for name in NAMES] == [2 * at + 1 for at in range(len(NAMES))]
