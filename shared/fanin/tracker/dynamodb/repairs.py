"""Build the writes that repair batches as plain data: reopen, remove reasons, remove a batch's user data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fanin.aws.dynamodb.rows import ABSENT, Item, number, text
from fanin.tracker.batch_changes.deleting import KEPT_OPTIONS, REMOVED
from fanin.tracker.dynamodb.items import (
    SCHEMA,
    group_item,
    milliseconds,
    origin_item,
    sample_key,
)
from fanin.tracker.dynamodb.requests import batch_key, create_under, create_with, next_check
from fanin.tracker.rules.model import ALIVE, Batch, BatchKey, Group, State
from fanin.tracker.rules.options import SHOWN

ENDED = tuple(state for state in State if state not in ALIVE)
USER_DATA = (
    "tenantUser",
    "tenantShard",
    "endReason",
    "endedBy",
    "completedBy",
    "originBatchId",
    *(option.attribute for option in SHOWN if option.name not in KEPT_OPTIONS),
)
"""What a delete removes from the row of a batch: what users wrote, names of callers, and keys of lists."""


def create_reopened(
    table: str,
    batch: Batch,
    group: Group,
    ranges: Sequence[tuple[int, int]] | None,
    key: str | None,
    instead_of: str | None,
) -> Item:
    """One transaction: a batch with its one group, the ranges of its origin, and its idempotency key."""
    rows = [group_item(batch, 0, group)]
    if ranges is not None:
        rows.append(origin_item(batch, ranges))
    first = create_with(table, batch) if key is None else create_under(table, batch, key, instead_of)
    puts = [{"Put": {"TableName": table, "Item": row, "ConditionExpression": ABSENT}} for row in rows]
    return {"TransactItems": [*first["TransactItems"], *puts]}


def delete(table: str, seen: Batch, at: datetime) -> Item:
    """Remove the user data of an ended batch, which is over from then on, if only its results have a check.

    The other check is removed when the bus has confirmed the ending event and the parent's item is acked. All
    other rows of the batch stay until their time to live: they have no user data but the reasons.
    """
    until, next_check_at = seen.results_until, replace(seen, deleted_at=at).results_until
    has_no_check, values = "attribute_not_exists(dueAt)", {}
    if until is not None:
        has_no_check, values = f"({has_no_check} OR dueAt = :until)", {":until": number(milliseconds(until))}
    facts = {} if next_check_at is None else next_check(seen.key, next_check_at)
    request = {
        "TableName": table,
        "Key": batch_key(seen.key),
        "UpdateExpression": "SET deletedAt = :at, expiresAt = createdAt, fingerprint = :removed"
        f"{''.join(f', {name} = :{name}' for name in facts)}"
        f" REMOVE {', '.join(USER_DATA)}",
        "ConditionExpression": f"#state IN ({', '.join(f':is{state}' for state in ENDED)})"
        f" AND {has_no_check}",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {f":is{state}": text(state) for state in ENDED}
        | {":at": number(milliseconds(at)), ":removed": text(REMOVED)}
        | values
        | {f":{name}": fact for name, fact in facts.items()},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return SCHEMA.guarded(request)


def free_sample(table: str, key: BatchKey, slot: int, item_id: str) -> Item:
    """Remove the reason in a slot, if it is that of the item."""
    return {
        "TableName": table,
        "Key": sample_key(key, slot),
        "UpdateExpression": "REMOVE itemId, reason, #at",
        "ConditionExpression": "itemId = :item",
        "ExpressionAttributeNames": {"#at": "at"},
        "ExpressionAttributeValues": {":item": text(item_id)},
    }
