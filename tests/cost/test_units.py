"""Request units, as DynamoDB bills them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from fanin.cost.rules import index_units
from fanin.cost.sizes import size_of
from lab.cost.units import UnitMeter
from tests.contract import moto_clients

KEY = {"pk": {"S": "a"}}
INDEX = {
    "KeySchema": [{"AttributeName": "user"}],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]},
}


def item(**texts: str) -> dict[str, dict[str, str]]:
    return {**KEY, **{name: {"S": text} for name, text in texts.items()}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "äb"}, 3),
        ({"N": "1234"}, 3),
        ({"N": "-100"}, 2),
        ({"B": b"123"}, 3),
        ({"B": "MTIz"}, 3),
        ({"BS": ["MTIz", "MQ=="]}, 4),
        ({"BOOL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"L": [{"S": "a"}, {"S": "b"}]}, 7),
        ({"M": {"k": {"S": "v"}}}, 6),
    ],
)
def test_the_size_of_a_value_is_that_of_the_documentation(value: dict[str, Any], size: int) -> None:
    assert size_of({"name": value}) == len("name") + size


def test_an_index_is_billed_where_its_part_of_the_item_changes_and_twice_where_it_moves() -> None:
    old = item(user="u", state="open", other="1")

    assert index_units(old, item(user="u", state="open", other="2"), INDEX) == 0
    assert index_units(old, item(user="u", state="closed"), INDEX) == 1
    assert index_units(old, item(user="v", state="open"), INDEX) == 2
    assert index_units(None, old, INDEX) == index_units(old, item(), INDEX) == 1


@pytest.fixture
def tables() -> Iterator[tuple[Any, UnitMeter]]:
    with moto_clients.tables_of_moto(), mock_aws():
        uncounted, client = (moto_clients.client("dynamodb") for _ in range(2))
        uncounted.create_table(
            TableName="t",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        yield client, UnitMeter(uncounted).attach(client)


def test_the_requests_of_a_client_are_counted(tables: tuple[Any, UnitMeter]) -> None:
    client, meter = tables
    client.put_item(TableName="t", Item=item(x="x" * 1500))
    client.get_item(TableName="t", Key=KEY)
    client.get_item(TableName="t", Key=KEY, ConsistentRead=True)
    client.update_item(TableName="t", Key=KEY, UpdateExpression="REMOVE x")
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "t", "Item": item(y="y")}}])
    client.batch_get_item(RequestItems={"t": {"Keys": [KEY]}})

    assert (meter.writes, meter.reads) == (2 + 2 + 2, 0.5 + 1 + 0.5)
