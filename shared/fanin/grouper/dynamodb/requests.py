"""The requests to the group-batcher's tables as plain data; the store sends them.

Attribute names are constants of this module; every input is passed as an expression attribute value.
"""

from __future__ import annotations

from datetime import datetime

from fanin.aws.dynamodb.rows import ABSENT, Item, in_transaction, number, put_new, text
from fanin.grouper.dynamodb.items import (
    PART_LEASE_KEPT,
    SCHEMA,
    bundle_key,
    instant,
    lane_key,
    live_shard,
    names,
    open_keys,
    outcomes_text,
    task_item,
    task_key,
    time_to_live,
)
from fanin.grouper.rules.model import Bundle, BundleState, Lane, Lease, Task, TaskKey, TaskState
from fanin.names import LANE_INDEX, LIVE_BUNDLES_INDEX, OPEN_TASKS_INDEX, TARGETS_INDEX

SEGMENTS = 16
"""Into so many segments the index of open tasks is divided for a scan of many pages."""
TARGETS_A_READ = 128
"""Rows of the index of targets that one request reads; more than the lanes of a target."""


def create(table: str, task: Task) -> Item:
    """Store the task unless a task of its key is stored that had not expired when this one was created.

    The condition compares with the time of creation, so a late copy replaces nothing stored after it.
    """
    request = put_new(table, task_item(task)) | {"ConditionExpression": f"{ABSENT} OR expiresAt <= :now"}
    return request | {"ExpressionAttributeValues": {":now": instant(task.created_at)}}


def settle(table: str, task: Task, bundle_id: str) -> Item:
    """End a bundled task or open it again, on condition that it is BUNDLED in this bundle."""
    facts = {
        "state": text(task.state),
        "shard": text(task.shard),
        "attempts": number(task.attempts),
        "dueAt": instant(task.due_at),
        "expiresAt": instant(task.expires_at),
        "ttl": time_to_live(task.expires_at),
        "detail": text(task.detail),
    }
    reopened = task.state is TaskState.CREATED
    facts |= open_keys(task) if reopened else {}
    request = _update(table, task_key(task.key), facts, removed=("bundleId",) if reopened else ())
    request["ConditionExpression"] = "#state = :bundled AND bundleId = :bundle"
    request["ExpressionAttributeValues"] |= {":bundled": text(TaskState.BUNDLED), ":bundle": text(bundle_id)}
    return SCHEMA.guarded(request)


def put_lease(table: str, seen: Lease | None, wanted: Lease) -> Item:
    """Write the next term, or the release of one, over exactly the term *seen*.

    Tenant and target are the keys of the index of targets; they never change, and parts have none.
    """
    facts = {"fence": number(wanted.fence), "until": instant(wanted.until)}
    facts |= {"holder": text(wanted.holder)} if wanted.holder else {}
    lane = wanted.lane
    of_target = {"tenant": text(lane.tenant), "target": text(lane.target)}
    facts |= {"ttl": time_to_live(wanted.until + PART_LEASE_KEPT)} if lane.is_part else of_target
    request = _update(table, lane_key(wanted.lane), facts, removed=() if wanted.holder else ("holder",))
    if seen is None:
        request["ConditionExpression"] = "attribute_not_exists(lane)"
        return request
    holder = "attribute_not_exists(#holder)" if seen.holder is None else "#holder = :seenHolder"
    request["ExpressionAttributeNames"]["#holder"] = "holder"
    request["ConditionExpression"] = f"#fence = :seenFence AND {holder}"
    request["ExpressionAttributeValues"][":seenFence"] = number(seen.fence)
    if seen.holder is not None:
        request["ExpressionAttributeValues"][":seenHolder"] = text(seen.holder)
    return SCHEMA.guarded(request)


def claim(tasks: str, bundles: str, bundle: Bundle, joining: tuple[str, ...]) -> Item:
    """Add *joining* to the bundle in one transaction, on condition that each may join it."""
    keys = [TaskKey(bundle.tenant, name) for name in joining]
    claims = [{"Update": _claim_task(tasks, key, bundle)} for key in keys]
    return {"TransactItems": [{"Update": _grow(bundles, bundle, joining)}, *claims]}


def seal(table: str, bundle: Bundle) -> Item:
    """Take a bundle from OPEN to READY, or write one without members, so that a slow leader's claim fails."""
    first = _identity(bundle) | {"attempt": number(0)}
    request = _update(table, bundle_key(bundle.key), {"state": text(BundleState.READY)}, first=first)
    request["UpdateExpression"] += ", #version = if_not_exists(#version, :none) + :one"
    request["ExpressionAttributeNames"]["#version"] = "version"
    request["ConditionExpression"] = f"{ABSENT} OR #state = :open"
    values = {":open": text(BundleState.OPEN), ":none": number(0), ":one": number(1)}
    request["ExpressionAttributeValues"] |= values
    return SCHEMA.guarded(request)


def replace_bundle(table: str, bundle: Bundle) -> Item:
    """Write the bundle's next version, except its members: those of a sealed bundle never change."""
    facts = {
        "state": text(bundle.state),
        "version": number(bundle.version),
        "attempt": number(bundle.attempt),
    }
    facts |= {"owner": text(bundle.owner)} if bundle.owner else {}
    facts |= {"outcomes": outcomes_text(bundle.outcomes)} if bundle.outcomes else {}
    times = {"callUntil": bundle.call_until, "notBefore": bundle.not_before}
    facts |= {name: instant(at) for name, at in times.items() if at is not None}
    removed = [name for name, at in times.items() if at is None] + (["live"] if bundle.state.ended else [])
    request = _update(table, bundle_key(bundle.key), facts, removed=tuple(removed))
    request["ConditionExpression"] = "#version = :seen"
    request["ExpressionAttributeValues"][":seen"] = number(bundle.version - 1)
    return SCHEMA.guarded(request)


def put_full_at(table: str, lane: Lane, seen: datetime | None, wanted: datetime) -> Item:
    """Write the bucket of a target after a token, over exactly the bucket *seen*."""
    request = _update(table, lane_key(lane), {"fullAt": instant(wanted)})
    request["ConditionExpression"] = "attribute_not_exists(#fullAt)" if seen is None else "#fullAt = :seen"
    if seen is not None:
        request["ExpressionAttributeValues"][":seen"] = instant(seen)
    return SCHEMA.guarded(request)


def candidates(table: str, lane: Lane, limit: int) -> Item:
    """Query the open tasks of a lane, in the order in which they are bundled."""
    return {
        "TableName": table,
        "IndexName": OPEN_TASKS_INDEX,
        "KeyConditionExpression": "lane = :lane",
        "ExpressionAttributeValues": {":lane": text(str(lane))},
        "Limit": limit,
    }


def waiting(table: str, lane: Lane, limit: int, after: str | None) -> Item:
    """Query the open tasks of a lane after the sort key *after*."""
    request = candidates(table, lane, limit)
    if after is not None:
        request["KeyConditionExpression"] += " AND #order > :after"
        request["ExpressionAttributeNames"] = {"#order": "order"}
        request["ExpressionAttributeValues"] |= {":after": text(after)}
    return request


def targets_of(table: str, tenant: str, after: str | None) -> Item:
    """Query the leases of a tenant by target, after *after*: a target has one for each of its lanes."""
    values = {":tenant": text(tenant)} | ({":after": text(after)} if after is not None else {})
    return {
        "TableName": table,
        "IndexName": TARGETS_INDEX,
        "KeyConditionExpression": "tenant = :tenant" + (" AND target > :after" if after is not None else ""),
        "ExpressionAttributeValues": values,
        "Limit": TARGETS_A_READ,
    }


def open_tasks(table: str, segment: int | None, start: Item | None) -> Item:
    """Scan the index of open tasks, or a *segment* of it, from its beginning or after the row *start*."""
    request: Item = {"TableName": table, "IndexName": OPEN_TASKS_INDEX}
    if segment is not None:
        request |= {"Segment": segment, "TotalSegments": SEGMENTS}
    return request if start is None else request | {"ExclusiveStartKey": start}


def live(table: str, shard: int, before: datetime) -> Item:
    """Query the live bundles of one shard of their index, created before *before*."""
    return {
        "TableName": table,
        "IndexName": LIVE_BUNDLES_INDEX,
        "KeyConditionExpression": "live = :shard AND createdAt < :before",
        "ExpressionAttributeValues": {":shard": text(str(shard)), ":before": instant(before)},
    }


def bundles_of(table: str, lane: Lane, limit: int, fence: int | None) -> Item:
    """Query the bundles of a lane, the newest first; only those older than *fence* if it is given."""
    values = {":lane": text(str(lane))} | ({":fence": number(fence)} if fence is not None else {})
    return {
        "TableName": table,
        "IndexName": LANE_INDEX,
        "KeyConditionExpression": "lane = :lane" + (" AND fence < :fence" if fence is not None else ""),
        "ExpressionAttributeValues": values,
        "ScanIndexForward": False,
        "Limit": limit,
    }


def _identity(bundle: Bundle) -> Item:
    """Return the attributes of a bundle that never change."""
    return {
        "tenant": text(bundle.tenant),
        "bundleId": text(bundle.bundle_id),
        "target": text(bundle.lane.target),
        "shard": text(bundle.lane.shard),
        "fence": number(bundle.fence),
        "createdAt": instant(bundle.created_at),
        "expiresAt": instant(bundle.expires_at),
        "ttl": time_to_live(bundle.expires_at),
    }


def _grow(table: str, bundle: Bundle, joining: tuple[str, ...]) -> Item:
    """Return the bundle's part of a claim: the first creates it, later ones require the version seen."""
    facts = {"state": text(BundleState.OPEN), "version": number(bundle.version)}
    if bundle.version == 1:
        facts |= _identity(bundle) | {"attempt": number(0), "lane": text(str(bundle.lane))}
        facts |= {"live": text(live_shard(bundle.key)), "members": names(joining)}
        grown = _update(table, bundle_key(bundle.key), facts)
        condition, values = ABSENT, {}
    else:
        grown = _update(table, bundle_key(bundle.key), facts)
        grown["UpdateExpression"] += ", members = list_append(members, :joining)"
        condition = "#state = :state AND #version = :seen"
        values = {":joining": names(joining), ":seen": number(bundle.version - 1)}
    grown["ExpressionAttributeValues"] |= values
    return in_transaction(SCHEMA.guarded(grown | {"ConditionExpression": condition}))


def _claim_task(table: str, key: TaskKey, bundle: Bundle) -> Item:
    """Return a task's part of a claim: from open in this lane, and due, to bundled, out of the index.

    The due time is that of the row, because a leader may have read the task before its last retry.

    The task expires with its bundle, so that time to live does not delete it before its outcome is applied.
    """
    facts = {"state": text(TaskState.BUNDLED), "bundleId": text(bundle.bundle_id)}
    facts |= {"expiresAt": instant(bundle.expires_at), "ttl": time_to_live(bundle.expires_at)}
    request = _update(table, task_key(key), facts, removed=("lane", "order"))
    request["ConditionExpression"] = "#state = :created AND #lane = :lane AND dueAt <= :begun"
    values = {":created": text(TaskState.CREATED), ":lane": text(str(bundle.lane))}
    values[":begun"] = instant(bundle.created_at)
    request["ExpressionAttributeValues"] |= values
    return in_transaction(SCHEMA.guarded(request))


def _update(
    table: str, key: Item, facts: Item, removed: tuple[str, ...] = (), first: Item | None = None
) -> Item:
    """Set *facts*, set those of *first* that are absent, remove *removed*.

    The response holds the item after the write.
    """
    first = first or {}
    sets = [f"#{name} = :{name}" for name in facts]
    sets += [f"#{name} = if_not_exists(#{name}, :{name})" for name in first]
    remove = f"REMOVE {', '.join(f'#{name}' for name in removed)} " if removed else ""
    return {
        "TableName": table,
        "Key": key,
        "UpdateExpression": f"{remove}SET {', '.join(sets)}",
        "ExpressionAttributeNames": {f"#{name}": name for name in (*facts, *first, *removed)},
        "ExpressionAttributeValues": {f":{name}": value for name, value in (facts | first).items()},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
