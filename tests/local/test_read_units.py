"""Reads of the emulator: their units, the 16 MB of a batch, attributes that a local index does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanin.cost import UsageMeter
from fanin.local.emulator_process import emulator
from fanin.local.emulator_process.connection import Connection
from fanin.local.request_rules.attribute_values import ITEM_BYTES

TABLE = "Reads"
KIB = 1024
ROWS = 4
LARGE = {"pk": {"S": "large"}, "sk": {"N": "0"}}
MISSING = {"pk": {"S": "none"}, "sk": {"N": "0"}}


def key(number: int, part: str = "small") -> dict[str, Any]:
    return {"pk": {"S": part}, "sk": {"N": str(number)}}


def keyed(*names: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)
    ]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a table of four rows of 3 KB in a partition and one of 10 KB in another.

    A local index has their keys alone.
    """
    started = emulator.start(0)
    emulator.wait_until_ready(started)
    client, kinds = Connection(started.endpoint).client("dynamodb"), {"pk": "S", "sk": "N", "ix": "N"}
    keys_alone = {"ProjectionType": "KEYS_ONLY"}
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": k} for n, k in kinds.items()],
        KeySchema=keyed("pk", "sk"),
        LocalSecondaryIndexes=[
            {"IndexName": "local", "KeySchema": keyed("pk", "ix"), "Projection": keys_alone}
        ],
    )
    for row, kilobytes in [*((key(number), 3) for number in range(ROWS)), (LARGE, 10)]:
        put(client, {**row, "ix": {"N": "1"}}, kilobytes * KIB)
    yield client
    started.stop()


def put(client: Any, row: dict[str, Any], size: int) -> None:
    """Put a row with so many bytes, half of them binary, beside its keys."""
    attributes = {"title": {"S": "x" * (size // 2)}, "body": {"B": b"x" * (size // 2)}}
    client.put_item(TableName=TABLE, Item={**row, **attributes})


def query(part: str = "small", **more: Any) -> dict[str, Any]:
    values = {":part": {"S": part}, **more.pop("values", {})}
    asked = {"KeyConditionExpression": "pk = :part", "ExpressionAttributeValues": values}
    return {"TableName": TABLE, **asked, **more}


UNFOUND = {"FilterExpression": "body = :none", "values": {":none": {"B": b"none"}}}
READS: dict[str, tuple[str, dict[str, Any], float]] = {
    # 12 KB and some bytes are four steps of 4 KB.
    "a query": ("query", query(), 4 * 0.5),
    "a consistent query": ("query", query(ConsistentRead=True), 4),
    "a query whose filter takes nothing": ("query", query(**UNFOUND), 4 * 0.5),
    "a query of a part of the rows": ("query", query(ProjectionExpression="sk"), 4 * 0.5),
    "a count": ("query", query(Select="COUNT"), 4 * 0.5),
    "a query of one row": ("query", query(Limit=1), 0.5),
    "a query of nothing": ("query", query("none"), 0.5),
    "a query of an index": ("query", query(IndexName="local"), 0.5),
    "a query of an index that fetches rows": (
        "query",
        query(IndexName="local", ProjectionExpression="body"),
        0.5 + ROWS * 0.5,
    ),
    "a scan": ("scan", {"TableName": TABLE, "ConsistentRead": True}, 6),
    "a get": ("get_item", {"TableName": TABLE, "Key": key(0)}, 0.5),
    "a consistent get of a part": (
        "get_item",
        {"TableName": TABLE, "Key": LARGE, "ProjectionExpression": "sk", "ConsistentRead": True},
        3,
    ),
    "a batch": ("batch_get_item", {"RequestItems": {TABLE: {"Keys": [key(0), LARGE, MISSING]}}}, 2.5),
    "a transaction": (
        "transact_get_items",
        {"TransactItems": [{"Get": {"TableName": TABLE, "Key": each}} for each in (key(0), LARGE, MISSING)]},
        2 * (1 + 3 + 1),
    ),
}


@pytest.mark.parametrize("what", READS)
def test_a_read_takes_the_units_of_the_rows_that_it_reads(client: Any, what: str) -> None:
    operation, request, units = READS[what]
    meter = UsageMeter().attach(client)
    getattr(client, operation)(**request)

    assert meter.usage.units == meter.reported == {"read_unit": units}


def test_a_local_index_fetches_what_it_does_not_have(client: Any) -> None:
    found = client.query(**query("large", IndexName="local", ProjectionExpression="body"))["Items"]

    assert [len(row["body"]["B"]) for row in found] == [5 * KIB]
    assert client.query(**query("large", IndexName="local"))["Items"] == [{**LARGE, "ix": {"N": "1"}}]


@pytest.fixture(scope="module")
def heaviest(client: Any) -> list[dict[str, Any]]:
    """The keys of 42 rows of nearly 400 KB: 40 of them have 16 MB less 8 KB."""
    keys = [key(number, "heavy") for number in range(42)]
    for each in keys:
        put(client, each, ITEM_BYTES - 200)
    return keys


def test_a_batch_leaves_the_keys_beyond_16_mb(client: Any, heaviest: list[dict[str, Any]]) -> None:
    answer = client.batch_get_item(RequestItems={TABLE: {"Keys": [*heaviest, key(0)]}})
    read, unprocessed = answer["Responses"][TABLE], answer["UnprocessedKeys"][TABLE]["Keys"]

    assert len(read) == 40
    assert unprocessed == [*heaviest[40:], key(0)]
    assert client.batch_get_item(RequestItems={TABLE: {"Keys": unprocessed}})["UnprocessedKeys"] == {}


def test_a_transaction_that_reads_more_than_4_mb_is_refused(
    client: Any, heaviest: list[dict[str, Any]]
) -> None:
    def read(count: int) -> Any:
        gets = [{"Get": {"TableName": TABLE, "Key": each}} for each in heaviest[:count]]
        return client.transact_get_items(TransactItems=gets)["Responses"]

    assert len(read(10)) == 10
    with pytest.raises(ClientError, match="Bytes of a transaction"):
        read(11)


def test_an_answer_with_units_has_the_checksum_of_its_bytes(client):
    """A client sends a request again whose answer has another checksum: here one request suffices."""
    sent: list[str] = []
    client.meta.events.register("before-send.dynamodb.GetItem", lambda request, **_: sent.append(request.url))
    client.get_item(TableName=TABLE, Key=LARGE, ReturnConsumedCapacity="TOTAL")

    assert len(sent) == 1
