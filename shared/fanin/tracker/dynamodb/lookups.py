"""Build every query of the tracker's tables as plain data; nothing is sent here."""

from __future__ import annotations

from datetime import datetime

from fanin.aws.dynamodb.rows import Item, number, text
from fanin.names import LIVE_BATCHES_INDEX, NEXT_CHECK_INDEX, TENANT_INDEX, USER_KEY_INDEX
from fanin.tracker.dynamodb.items import (
    CHILDREN_ROW,
    bound,
    due_list,
    last_before,
    live_list,
    milliseconds,
    user_list,
)
from fanin.tracker.rules.filters import BADLY, Condition, Query
from fanin.tracker.rules.ids import TOTAL_MAX
from fanin.tracker.rules.model import ALIVE, BatchKey, State
from fanin.tracker.store import ROWS_A_READ

GROUP = "group#{:013d}"
UNBOUNDED = ("0", "~")
"""Sort keys before and after all rows of a list."""
ROWS_A_LOOK = 10
"""Rows of the live batches in one read: the first is the oldest, unless the index lags."""


def group_before(table: str, key: BatchKey, start: int) -> Item:
    """Query the group that begins at item *start*, or the last one before it."""
    return _rows(table, key, GROUP.format(0), GROUP.format(start)) | {"ScanIndexForward": False, "Limit": 1}


def groups(table: str, key: BatchKey, first: int, last: int) -> Item:
    """Query the groups that begin at the items *first* to *last*."""
    return _rows(table, key, GROUP.format(first), GROUP.format(last))


def children(table: str, key: BatchKey, start: int) -> Item:
    """Query the children of the items from *start* on."""
    return _rows(table, key, CHILDREN_ROW.format(start), CHILDREN_ROW.format(TOTAL_MAX))


def samples(table: str, key: BatchKey) -> Item:
    """Query the kept reasons of failures."""
    return _rows(table, key, "sample#", "sample#~")


def due(table: str, shard: int, alive: bool, at: datetime) -> Item:
    """Query the keys of a shard's live or ended batches whose check is due by *at*."""
    return {
        "TableName": table,
        "IndexName": NEXT_CHECK_INDEX,
        "KeyConditionExpression": "dueShard = :list AND dueAt <= :at",
        "ExpressionAttributeValues": {":list": text(due_list(shard, alive)), ":at": number(milliseconds(at))},
        "Limit": ROWS_A_READ,
    }


def live(table: str, shard: int) -> Item:
    """Query the keys of a shard's live batches, the oldest first."""
    return {
        "TableName": table,
        "IndexName": LIVE_BATCHES_INDEX,
        "KeyConditionExpression": "liveShard = :list",
        "ExpressionAttributeValues": {":list": text(live_list(shard))},
        "Limit": ROWS_A_LOOK,
    }


def listing(table: str, query: Query) -> Item | None:
    """Query the rows of one list, newest first, after a position; a filter reads many rows.

    None where no row can be between the position and the time from which batches are listed.
    """
    index, name, value = TENANT_INDEX, "tenantShard", f"{query.tenant}#{query.shard}"
    if query.user_key is not None:
        index, name, value = USER_KEY_INDEX, "tenantUser", user_list(query.tenant, query.user_key)
    request: Item = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": f"{name} = :list",
        "ExpressionAttributeValues": {":list": text(value)},
        "ScanIndexForward": False,
        "Limit": ROWS_A_READ if query.reads_rows else query.limit,
    }
    low, high = _opened(query)
    if low > high:
        return None  # DynamoDB refuses such a condition
    if (low, high) != UNBOUNDED:
        request["KeyConditionExpression"] += " AND createdKey BETWEEN :low AND :high"
        request["ExpressionAttributeValues"] |= {":low": text(low), ":high": text(high)}
    return _filtered(request, query)


def _opened(query: Query) -> tuple[str, str]:
    """Return the sort keys between which the rows of a list are read.

    All of a millisecond's rows come after the millisecond alone, so a bound without an id excludes them.
    """
    low = UNBOUNDED[0] if query.opened_from is None else bound(query.opened_from)
    highs = [] if query.opened_to is None else [bound(query.opened_to)]
    highs += [] if query.before is None else [last_before(query.before)]
    return low, min(highs, default=UNBOUNDED[1])


def _filtered(request: Item, query: Query) -> Item:
    """Return *request* with a filter expression for what has no list of its own."""
    conditions, names = [], {}
    values = request["ExpressionAttributeValues"]
    if query.user_key_prefix is not None:
        conditions.append("begins_with(userKey, :prefix)")
        values[":prefix"] = text(query.user_key_prefix)
    if query.state is not None:
        conditions.append("#state = :state")
        names["#state"], values[":state"] = "state", text(query.state)
    if query.condition is not None:
        condition, compared = _in_condition(query.condition)
        conditions.append(condition)
        names["#state"] = "state"
        values |= compared
    if query.label_pair is not None:
        conditions.append("#labels.#key = :label")
        names |= {"#labels": "labels", "#key": query.label_pair[0]}
        values[":label"] = text(query.label_pair[1])
    if not conditions:
        return request
    filtered = request | {"FilterExpression": " AND ".join(conditions)}
    return filtered | {"ExpressionAttributeNames": names} if names else filtered


def _in_condition(wanted: Condition) -> tuple[str, Item]:
    """Return the condition of :meth:`Condition.fits`, and the values that it compares with."""
    states = ALIVE if wanted is not Condition.ENDED_BADLY else BADLY
    values: Item = {f":is{state}": text(state) for state in sorted(states)}
    in_state, no_failures = f"#state IN ({', '.join(values)})", {":noFailures": number(0)}
    if wanted is Condition.LIVE:
        return in_state, values
    if wanted is Condition.PROBLEMS:
        is_quiet = "(attribute_not_exists(ackedAt) OR ackedAt = stalledAt)"
        stalled = f"attribute_exists(stalledAt) AND {is_quiet}"
        return f"{in_state} AND (failed > :noFailures OR {stalled})", values | no_failures
    with_failures = "#state = :complete AND failed > :noFailures AND attribute_not_exists(reached)"
    return f"({in_state} OR {with_failures})", values | no_failures | {":complete": text(State.COMPLETE)}


def _rows(table: str, key: BatchKey, low: str, high: str) -> Item:
    """Query rows of a batch by their sort keys, with a consistent read."""
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": {":pk": text(str(key)), ":low": text(low), ":high": text(high)},
        "ConsistentRead": True,
    }
