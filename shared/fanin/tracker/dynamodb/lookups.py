"""Every query of the tracker's tables, as plain data: no client, no network, nothing sent here."""

from __future__ import annotations

from datetime import datetime

from fanin.aws.rows import Item, number, text
from fanin.names import LIVE_BATCHES_INDEX, NEXT_CHECK_INDEX, TENANT_INDEX, USER_KEY_INDEX
from fanin.tracker.dynamodb.items import created_key, due_list, live_list, milliseconds, user_list
from fanin.tracker.model import BatchKey, Query
from fanin.tracker.store import ROWS_A_READ

GROUP = "group#{:013d}"
ROWS_A_LOOK = 10
"""Rows of the live batches that are read at once: the first is the answer, unless the index lags."""


def group_before(table: str, key: BatchKey, start: int) -> Item:
    """The group that begins at item *start*, or the last one before it."""
    return _rows(table, key, GROUP.format(0), GROUP.format(start)) | {"ScanIndexForward": False, "Limit": 1}


def groups(table: str, key: BatchKey, first: int, last: int) -> Item:
    """The groups that begin at the items *first* to *last*."""
    return _rows(table, key, GROUP.format(first), GROUP.format(last))


def samples(table: str, key: BatchKey) -> Item:
    """The kept reasons of failures."""
    return _rows(table, key, "sample#", "sample#~")


def due(table: str, shard: int, alive: bool, at: datetime) -> Item:
    """Keys of the batches of a shard that are due by *at*, live or ended."""
    return {
        "TableName": table,
        "IndexName": NEXT_CHECK_INDEX,
        "KeyConditionExpression": "dueShard = :list AND dueAt <= :at",
        "ExpressionAttributeValues": {":list": text(due_list(shard, alive)), ":at": number(milliseconds(at))},
        "Limit": ROWS_A_READ,
    }


def live(table: str, shard: int) -> Item:
    """Keys of the live batches of a shard, the oldest first."""
    return {
        "TableName": table,
        "IndexName": LIVE_BATCHES_INDEX,
        "KeyConditionExpression": "liveShard = :list",
        "ExpressionAttributeValues": {":list": text(live_list(shard))},
        "Limit": ROWS_A_LOOK,
    }


def listing(table: str, query: Query) -> Item:
    """The rows of one list, newest first, after the place to go on from; a state is looked for in many."""
    index, name, value = TENANT_INDEX, "tenantShard", f"{query.tenant}#{query.shard}"
    if query.user_key is not None:
        index, name, value = USER_KEY_INDEX, "tenantUser", user_list(query.tenant, query.user_key)
    request: Item = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": f"{name} = :list",
        "ExpressionAttributeValues": {":list": text(value)},
        "ScanIndexForward": False,
        "Limit": query.limit if query.state is None else ROWS_A_READ,
    }
    if query.before is not None:
        request["KeyConditionExpression"] += " AND createdKey < :before"
        request["ExpressionAttributeValues"][":before"] = text(created_key(*query.before))
    if query.state is not None:
        request |= {"FilterExpression": "#state = :state", "ExpressionAttributeNames": {"#state": "state"}}
        request["ExpressionAttributeValues"][":state"] = text(query.state)
    return request


def _rows(table: str, key: BatchKey, low: str, high: str) -> Item:
    """Rows that belong to a batch, by their sort keys, read consistently."""
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": {":pk": text(str(key)), ":low": text(low), ":high": text(high)},
        "ConsistentRead": True,
    }
