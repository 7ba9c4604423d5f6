"""Requests at a limit of AWS and beyond it, by what is limited."""

from __future__ import annotations

import json
from typing import Any

from fanin.local.request_rules import Tables

TABLE = {
    "TableName": "Things",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "ix", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "ix", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["kept"]},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [
                {"AttributeName": "ix", "KeyType": "HASH"},
                {"AttributeName": "at", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
Request = dict[str, Any]


def tables() -> Tables:
    known = Tables()
    known.learn(TABLE)
    return known


def text(value: str) -> Request:
    return {"S": value}


def key(pk: str = "p", sk: str = "s") -> Request:
    return {"pk": text(pk), "sk": text(sk)}


def update(
    expression: str, values: Request | None = None, names: Request | None = None, **more: Any
) -> Request:
    request = {"TableName": "Things", "Key": key(), "UpdateExpression": expression, **more}
    request |= {"ExpressionAttributeValues": values} if values is not None else {}
    return request | ({"ExpressionAttributeNames": names} if names is not None else {})


def put(item: Request | None = None, **more: Any) -> Request:
    return {"TableName": "Things", "Item": key() | (item or {}), **more}


def condition(expression: str, values: Request | None = None, names: Request | None = None) -> Request:
    more = {"ExpressionAttributeValues": values} if values is not None else {}
    more |= {"ExpressionAttributeNames": names} if names is not None else {}
    return put(ConditionExpression=expression, **more)


def query(expression: str, values: Request, **more: Any) -> Request:
    return {
        "TableName": "Things",
        "KeyConditionExpression": expression,
        "ExpressionAttributeValues": values,
        **more,
    }


def scan(segment: int, total: int) -> Request:
    return {"TableName": "Things", "Segment": segment, "TotalSegments": total}


def numbered(count: int) -> Request:
    return {f":v{each}": {"N": str(each)} for each in range(count)}


def compared(operators: int) -> Request:
    """A condition with *operators* comparisons and ORs, and a NOT if they are even."""
    negation = "" if operators % 2 else "NOT "
    return condition(negation + " OR ".join(["a=:v"] * ((operators + 1) // 2)), {":v": text("")})


def summed(operators: int) -> Request:
    """An update with that many sums."""
    return update("SET " + ",".join(f"a{each}=b+:n" for each in range(operators)), {":n": {"N": "1"}})


def one_of(count: int) -> Request:
    values = numbered(count)
    return condition(f"a IN ({','.join(values)})", values)


def sized(bytes_of_item: int) -> Request:
    """An item of that many bytes, in no index."""
    return put({"body": text("x" * (bytes_of_item - len("pkpskssbody") + 1))})


def in_local_index(bytes_of_all: int) -> Request:
    """An item that has that many bytes with its entry in the local index, which has its keys alone."""
    own, entry = len("pkpsksixi"), len("sksixi")  # they share the partition key
    return put({"ix": text("i"), "body": text("x" * (bytes_of_all - own - entry - len("body")))})


def named(bytes_of_name: int) -> Request:
    return put({"n" * bytes_of_name: text("")})


def nested(levels: int) -> Request:
    value: Request = text("x")
    for _ in range(levels - 1):
        value = {"M": {"a": value}}
    return put({"deep": value})


def transaction(actions: int, **more: Any) -> Request:
    return {"TransactItems": [{"Put": put(key(sk=str(each)))} for each in range(actions)], **more}


def heavy(bytes_of_all: int) -> Request:
    """A transaction of eleven items that have that many bytes together."""
    each, remainder = divmod(bytes_of_all, 11)
    sizes = [each] * 10 + [each + remainder]
    own = len("pkpsk00body")
    puts = [put({**key(sk=f"{at:02}"), "body": text("x" * (size - own))}) for at, size in enumerate(sizes)]
    return {"TransactItems": [{"Put": one} for one in puts]}


def batch_write(count: int) -> Request:
    some = [{"DeleteRequest": {"Key": key(sk=str(each))}} for each in range(count)]
    return {"RequestItems": {"Things": some}}


def batch_get(count: int) -> Request:
    return {"RequestItems": {"Things": {"Keys": [key(sk=str(each)) for each in range(count)]}}}


def get(pk: str = "p", sk: str = "s") -> Request:
    return {"TableName": "Things", "Key": key(pk, sk)}


def messages(count: int, size: int = 1, entry_id: str = "") -> Request:
    some = [{"Id": entry_id or str(each), "MessageBody": "x" * size} for each in range(count)]
    return {"QueueUrl": "q", "Entries": some}


def attributed(count: int) -> Request:
    attributes = {f"a{each}": {"DataType": "String", "StringValue": "v"} for each in range(count)}
    return {"QueueUrl": "q", "MessageBody": "m", "MessageAttributes": attributes}


def message(size: int, **more: Any) -> Request:
    return {"QueueUrl": "q", "MessageBody": "x" * size, **more}


def events_of(count: int, size: int = 0) -> Request:
    """Events of *size* bytes each, or of the fewest."""
    detail = json.dumps({"a": "x" * max(0, size - len("sd") - len('{"a": ""}'))})
    return {"Entries": [{"Source": "s", "DetailType": "d", "Detail": detail}] * count}
