"""Build every request of the quotas as plain data; their rows are in the table of batches."""

from __future__ import annotations

from fanin.aws.dynamodb.rows import Item, number, put_new, text
from fanin.aws.dynamodb.schema import Schema
from fanin.names import QUOTA_ROW
from fanin.quotas.model import SECOND, BucketKey, Permit, PermitKey, Spent

KEPT = 86_400
"""Seconds for which the row of a bucket is kept after it is full again."""
SCHEMA = Schema(newest=1)
"""Of each row of a quota."""


def bucket_key(key: BucketKey) -> Item:
    """Return the key of a bucket; the tenant comes last, because it may contain any character."""
    return _key(f"{key.quota}#{key.shard}#{key.tenant}")


def permit_key(key: PermitKey) -> Item:
    """Return the key of a permit."""
    return _key(f"permit#{key.number}#{key.tenant}")


def start(table: str, key: BucketKey, at: int, full_at: int) -> Item:
    """Set when a bucket is full again, if it is full or new."""
    values = {":at": number(at), ":full": number(full_at), ":ttl": _ttl(full_at)}
    full = "attribute_not_exists(fullAt) OR fullAt <= :at"
    return _update(table, key, "SET fullAt = :full, #ttl = :ttl", full, values)


def spend(table: str, key: BucketKey, at: int, cost: int, before: int) -> Item:
    """Put off when a bucket is full again, if it is not full and has a token."""
    values = {
        ":at": number(at),
        ":cost": number(cost),
        ":before": number(before),
        ":ttl": _ttl(before + cost),
    }
    not_empty = "fullAt > :at AND fullAt < :before"
    return _update(table, key, "SET fullAt = fullAt + :cost, #ttl = :ttl", not_empty, values)


def correct(table: str, key: BucketKey, seen: int, full_at: int) -> Item:
    """Replace the time *seen* of a bucket."""
    values = {":seen": number(seen), ":full": number(full_at), ":ttl": _ttl(full_at)}
    return _update(table, key, "SET fullAt = :full, #ttl = :ttl", "fullAt = :seen", values)


def take(table: str, key: PermitKey, seen: str | None, permit: Permit) -> Item:
    """Put the taker of a permit, if the permit was never taken, or is still that of the batch *seen*.

    The row has no TTL: a batch can live for any time.
    """
    row = permit_key(key) | {"batchId": text(permit.batch_id), "takenAt": number(permit.taken_at)}
    if seen is None:
        return SCHEMA.guarded(put_new(table, row))
    still = {"ConditionExpression": "batchId = :before", "ExpressionAttributeValues": {":before": text(seen)}}
    return SCHEMA.guarded(put_new(table, row) | still)


def spent_of(row: Item | None, applied: bool) -> Spent:
    """Return the bucket in a stored *row*; None is a bucket that was never used. Raises NewerSchema."""
    if row is None:
        return Spent(0, applied)
    return Spent(int(SCHEMA.checked("quota", row)["fullAt"]["N"]), applied)


def permit_of(row: Item) -> Permit:
    """Return the permit in a stored *row*. Raises NewerSchema."""
    checked = SCHEMA.checked("quota", row)
    return Permit(checked["batchId"]["S"], int(checked["takenAt"]["N"]))


def _key(name: str) -> Item:
    return {"pk": text(f"quota#{name}"), "sk": text(QUOTA_ROW)}


def _ttl(full_at: int) -> Item:
    return number(full_at // SECOND + KEPT)


def _update(table: str, key: BucketKey, update: str, condition: str, values: Item) -> Item:
    request = {
        "TableName": table,
        "Key": bucket_key(key),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#ttl": "ttl"},
        "ExpressionAttributeValues": values,
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return SCHEMA.guarded(request)
