"""The requests of lists that are read page by page, as plain data."""

from __future__ import annotations

from fanin.aws.dynamodb.rows import Item, text
from fanin.names import TENANT_QUEUES_INDEX
from fanin.queue.dynamodb import items, requests
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.order import IndexRange


def within(table: str, pk: Item, keys: IndexRange, limit: int) -> Item:
    """Query the rows of a partition in a range of the index, in order; those after the row *after*."""
    values = {":pk": pk, ":low": text(keys.low), ":high": text(keys.high)}
    request = requests.query(table, "#pk = :pk AND #ix BETWEEN :low AND :high", values) | {"Limit": limit}
    if keys.after is None:
        return request
    start = {"pk": pk, "sk": text(keys.after), "ix": text(keys.low)}
    return request | {"ExclusiveStartKey": start}


def sessions_after(table: str, queue: QueueKey, after: str | None, limit: int) -> Item:
    """Query the sessions of a queue, in the order of their ids."""
    request = requests.partition(table, items.session_pk(queue)) | {"Limit": limit}
    return request if after is None else request | {"ExclusiveStartKey": items.session_row(queue, after)}


def queues_of(table: str, tenant: str, after: str | None, limit: int) -> Item:
    """Query the config rows of a tenant in the order of the queues' names; those after the queue *after*."""
    request = {"TableName": table, "IndexName": TENANT_QUEUES_INDEX, "Limit": limit}
    request |= requests.expression({":tenant": text(tenant)}, KeyConditionExpression="#tenant = :tenant")
    if after is None:
        return request
    return request | {
        "ExclusiveStartKey": items.config_row(QueueKey(tenant, after)) | {"tenant": text(tenant)}
    }
