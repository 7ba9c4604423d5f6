"""What AWS bills and bounds of the entries of indexes, where its pages leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from fanin.local.request_rules.attribute_values import ITEM_BYTES, size_of_item
from fanin.local.request_rules.table_keys import TableKeys
from tests.smoke.site import Failed, Stage

Row = dict[str, Any]
TRANSACTED = {1.0: "once", 2.0: "twice"}


def units(stage: Stage) -> str:
    """Write a row with entries in indexes, alone and in a transaction, and compare their units."""
    client, table = stage.client("dynamodb"), stage.outputs["BatchesTable"]
    row = _row(client.describe_table(TableName=table)["Table"], stage.name)
    key = {name: row[name] for name in ("pk", "sk")}
    stage.clean_later("the row of the indexes", lambda: client.delete_item(TableName=table, Key=key))
    put = {"TableName": table, "Item": row}
    alone = client.put_item(**put, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    client.delete_item(TableName=table, Key=key)
    (together,) = client.transact_write_items(TransactItems=[{"Put": put}], ReturnConsumedCapacity="INDEXES")[
        "ConsumedCapacity"
    ]
    return verdict(_of_indexes(alone), _of_indexes(together))


def verdict(alone: float, together: float) -> str:
    """Return how a transaction bills entries that take *alone* units outside of one."""
    times = TRANSACTED.get(together / alone) if alone else None
    if times is None:
        raise Failed(f"the entries take {alone:g} units alone, and {together:g} in a transaction")
    return (
        f"entries in indexes are billed {times} in a transaction: {alone:g} units alone, {together:g} in it"
    )


def _row(table: Mapping[str, Any], name: str) -> Row:
    """Return a row with the keys of all indexes, in parts of them that nothing else reads."""
    values = {"S": {"S": name}, "N": {"N": "0"}, "B": {"B": name.encode()}}
    return {each["AttributeName"]: values[each["AttributeType"]] for each in table["AttributeDefinitions"]}


def _of_indexes(report: Mapping[str, Any]) -> float:
    found = report.get("GlobalSecondaryIndexes", {}).values()
    return float(sum(each["CapacityUnits"] for each in found))


def item_bytes(stage: Stage) -> str:
    """Offer the largest item with an entry in a local index, and one of a byte more; neither is stored."""
    if "QueueTable" not in stage.outputs:
        return "no work queues"
    client, table = stage.client("dynamodb"), stage.outputs["QueueTable"]
    keys = TableKeys.of(client.describe_table(TableName=table)["Table"])
    row = {name: {"S": stage.name} for name in ("pk", "sk", "ix")}
    room = ITEM_BYTES - size_of_item(row) - keys.local_bytes(row) - len("body")
    taken = [_is_taken(client, table, {**row, "body": {"S": "x" * size}}) for size in (room, room + 1)]
    if taken != [True, False]:
        raise Failed(f"taken at the limit and beyond it: {taken}; the rule counts the partition key once")
    return "an item and its entry in a local index have 400 KB, with the partition key once"


def _is_taken(client: Any, table: str, row: Row) -> bool:
    """Return whether *row* is no longer than DynamoDB takes; a condition that fails keeps it out."""
    try:
        client.put_item(TableName=table, Item=row, ConditionExpression="attribute_exists(pk)")
    except ClientError as error:
        return bool(error.response["Error"]["Code"] == "ConditionalCheckFailedException")
    raise Failed("a row is stored under the name of this test")
