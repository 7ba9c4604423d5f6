"""The emulator with an engine in the place of its tables: the items are there, the streams are the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from fanin.local.dynamodb_engine.engine import STREAMS, Engine
from fanin.local.emulator_process import emulator
from fanin.local.emulator_process.connection import Connection
from tests.polling import eventually

ENGINES = ("emulator", "engine with streams", "engine without streams")


class Site:
    """The clients of one emulator, and of its engine."""

    def __init__(self, endpoint: str, engine: str | None) -> None:
        self.dynamodb = Connection(endpoint).client("dynamodb")
        self.endpoint = endpoint
        self.engine = Connection(engine).client("dynamodb") if engine else self.dynamodb
        self.tables: list[str] = []

    def table(self, view: str = "NEW_AND_OLD_IMAGES") -> str:
        """Create a table with an index of each kind and a stream, and return its name."""
        name = f"table-{uuid4().hex}"
        projection = {"ProjectionType": "ALL"}
        self.dynamodb.create_table(
            TableName=name,
            AttributeDefinitions=[
                {"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk", "ix")
            ],
            KeySchema=keyed("pk", "sk"),
            LocalSecondaryIndexes=[
                {"IndexName": "local", "KeySchema": keyed("pk", "ix"), "Projection": projection}
            ],
            GlobalSecondaryIndexes=[
                {"IndexName": "global", "KeySchema": keyed("ix"), "Projection": projection}
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
        )
        self.tables.append(name)
        return name

    def clear(self) -> None:
        """Delete the tables: the stream of each is read five times a second."""
        for name in self.tables:
            with suppress(ClientError):  # a test deleted it
                self.dynamodb.delete_table(TableName=name)
        self.tables.clear()

    def records(self, table: str, count: int) -> list[dict[str, Any]]:
        """Return the records of the stream, as soon as there are *count*."""
        found: list[dict[str, Any]] = []

        def are_all() -> bool:
            found[:] = self._records(table)
            return len(found) >= count

        eventually(are_all)
        return found

    def _records(self, table: str) -> list[dict[str, Any]]:
        """Return the records with the names of their fields that functions get, which botocore drops."""
        arn = self.dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        (shard,) = self.ask("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
        first = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = self.ask("GetShardIterator", StreamArn=arn, **first)["ShardIterator"]
        return self.ask("GetRecords", ShardIterator=iterator)["Records"]

    def ask(self, operation: str, **request: Any) -> dict[str, Any]:
        return Engine(self.endpoint).ask(operation, request, STREAMS)


def keyed(*names: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]


def item(sort: str, **values: int) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": sort}, **{name: {"N": str(each)} for name, each in values.items()}}


@pytest.fixture(scope="module")
def sites(engine_url: str, streamless_url: str) -> Iterator[dict[str, Site]]:
    urls = dict(zip(ENGINES, ("", engine_url, streamless_url), strict=True))
    started = {name: emulator.start(0, url) for name, url in urls.items()}
    try:
        for each in started.values():
            emulator.wait_until_ready(each)
        yield {name: Site(started[name].endpoint, url or None) for name, url in urls.items()}
    finally:
        for each in started.values():
            each.stop()


@pytest.fixture(params=ENGINES[1:])
def site(sites: dict[str, Site], request: pytest.FixtureRequest) -> Site:
    return sites[request.param]


def expiring(site: Site) -> str:
    """Return a table whose item "old" is expired, and no other."""
    table, now = site.table(), int(time.time())
    site.dynamodb.update_time_to_live(
        TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    site.dynamodb.put_item(TableName=table, Item={**item("text"), "ttl": {"S": str(now - 60)}})
    for sort, ttl in (("new", now + 86_400), ("older", now - 6 * 365 * 86_400), ("old", now - 60)):
        site.dynamodb.put_item(TableName=table, Item=item(sort, ttl=ttl))
    return table


@pytest.fixture(autouse=True)
def cleared(sites: dict[str, Site]) -> Iterator[None]:
    """Delete the tables of the test."""
    yield
    for site in sites.values():
        site.clear()


def test_the_items_are_in_the_engine(site):
    table = site.table()

    site.dynamodb.put_item(TableName=table, Item=item("a", n=1))

    assert site.engine.scan(TableName=table)["Items"] == [item("a", n=1)]
    assert site.dynamodb.get_item(TableName=table, Key=item("a"))["Item"] == item("a", n=1)


def test_a_table_that_is_deleted_is_deleted_there(site):
    table = site.table()

    site.dynamodb.delete_table(TableName=table)

    assert table not in site.engine.list_tables()["TableNames"]


def test_the_indexes_are_there_and_those_that_are_added(site):
    table = site.table()
    site.dynamodb.update_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": "more", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "added",
                    "KeySchema": keyed("more"),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            }
        ],
    )
    site.dynamodb.put_item(TableName=table, Item={**item("a"), "ix": {"S": "i"}, "more": {"S": "m"}})

    for index, key in (("global", {"ix": "i"}), ("added", {"more": "m"})):
        ((name, value),) = key.items()
        found = site.dynamodb.query(
            TableName=table,
            IndexName=index,
            KeyConditionExpression=f"{name} = :v",
            ExpressionAttributeValues={":v": {"S": value}},
        )
        assert [each["sk"] for each in found["Items"]] == [{"S": "a"}]


def test_a_table_of_others_is_neither_taken_nor_deleted(site):
    table = f"theirs-{uuid4().hex}"
    theirs = {
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": keyed("pk"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    site.engine.create_table(TableName=table, **theirs)

    with pytest.raises(ClientError, match=f"has a table {table} already, .*delete-table") as refused:
        site.dynamodb.create_table(TableName=table, **theirs)

    assert refused.value.response["Error"]["Code"] == "ResourceInUseException"
    assert table not in site.dynamodb.list_tables()["TableNames"]
    assert table in site.engine.list_tables()["TableNames"]


def written(site: Site, table: str) -> None:
    """Send a write of each kind; 8 of them change an item."""
    client, update = site.dynamodb, {"UpdateExpression": "SET n = :n"}
    client.put_item(TableName=table, Item=item("a", n=1))
    client.put_item(TableName=table, Item=item("a", n=2))
    update["ExpressionAttributeValues"] = {":n": {"N": "3"}}
    client.update_item(TableName=table, Key=item("a"), **update)
    with pytest.raises(ClientError):
        client.delete_item(
            TableName=table,
            Key=item("a"),
            ConditionExpression="n = :n",
            **{"ExpressionAttributeValues": {":n": {"N": "9"}}},
        )
    client.batch_write_item(
        RequestItems={
            table: [{"PutRequest": {"Item": item("b", n=1)}}, {"DeleteRequest": {"Key": item("a")}}]
        }
    )
    client.delete_item(TableName=table, Key=item("nothing"))
    absent = {"Key": item("a"), "ConditionExpression": "attribute_not_exists(n)"}
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": item("c", n=1)}},
            {"Update": {"TableName": table, "Key": item("b"), **update}},
            {"ConditionCheck": {"TableName": table, **absent}},
        ]
    )
    client.transact_write_items(TransactItems=[{"Delete": {"TableName": table, "Key": item("c")}}])


@pytest.mark.parametrize("view", ["NEW_AND_OLD_IMAGES", "KEYS_ONLY"])
def test_the_stream_has_the_records_that_the_emulator_makes(sites, view):
    found = {}
    for name, site in sites.items():
        table = site.table(view)
        written(site, table)
        records = site.records(table, 8)
        assert {each["eventSource"] for each in records} == {"aws:dynamodb"}
        assert all("userIdentity" not in each for each in records)
        changes = [
            (
                each["eventName"],
                *(str(each["dynamodb"].get(part)) for part in ("Keys", "OldImage", "NewImage")),
            )
            for each in records
        ]
        # The items of one request are in any order.
        found[name] = [*changes[:3], *sorted(changes[3:5]), *sorted(changes[5:7]), *changes[7:]]

    assert len(found["emulator"]) == 8
    assert found["engine with streams"] == found["emulator"]
    assert found["engine without streams"] == found["emulator"]


def test_a_write_that_changes_nothing_has_no_record(site):
    table = site.table()

    for n in (1, 1, 2):
        site.dynamodb.put_item(TableName=table, Item=item("a", n=n))

    assert [each["eventName"] for each in site.records(table, 2)] == ["INSERT", "MODIFY"]
    assert site.records(table, 2)[1]["dynamodb"]["NewImage"] == item("a", n=2)


@pytest.mark.proof
def test_what_expired_is_deleted_and_its_record_says_so(site):
    table = expiring(site)

    *_, last = site.records(table, 5)

    assert last["eventName"] == "REMOVE"
    assert last["dynamodb"]["Keys"] == item("old")
    assert last["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    remaining = site.dynamodb.scan(TableName=table)["Items"]
    assert sorted(each["sk"]["S"] for each in remaining) == ["new", "older", "text"]
