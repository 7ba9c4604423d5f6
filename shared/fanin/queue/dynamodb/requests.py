"""Every request to the queue's table, as plain data.

Expressions are constants of this module; user input is only in values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fanin.aws.dynamodb.rows import ABSENT, Item, number, put_new, text
from fanin.aws.dynamodb.schema import VERSION
from fanin.names import JOBS_INDEX, QUEUES_INDEX
from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.keys import PartKey, QueueKey
from fanin.queue.rules.model import Dead, Entry, GivenBack, Job, JobState, Member, OutboxEntry, Rerun

OVER_DONE = "#st = :done AND #generation = :seen"


def create(table: str, queue: QueueKey, config: QueueConfig) -> Item:
    """Store the config of a queue, unless one is stored."""
    return put_new(table, items.config_item(queue, config))


def reconfigure(table: str, queue: QueueKey, config: QueueConfig) -> Item:
    """Store a config over the one of the revision before it."""
    key = items.config_row(queue)
    facts = {name: value for name, value in items.config_item(queue, config).items() if name not in key}
    gone = [f"#{name}" for name in items.CONFIG_OPTIONAL if name not in facts]
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in facts)
    update += f" REMOVE {', '.join(gone)}" if gone else ""
    values = {f":{name}": value for name, value in facts.items()} | {":seen": number(config.revision - 1)}
    return _update(table, key, update, "#revision = :seen", values)


def count_change(table: str, queue: QueueKey) -> Item:
    """Count that a session began or ended, in the config row of an existing queue."""
    row, exists = items.config_row(queue), "attribute_exists(#pk)"
    return _update(table, row, "ADD #changes :one", exists, {":one": number(1)})


def add(table: str, job: Job, over: Job | None) -> Item:
    """Store a job where its key has none, or over the done one that was seen."""
    put = put_new(table, items.job_item(job))
    return put if over is None else items.SCHEMA.guarded(put | _over_done(over))


def add_checked(table: str, job: Job, over: Job | None, check: Check) -> Item:
    """One transaction: store a job as ``add`` does, on condition of the other row of its key."""
    return {"TransactItems": [{"Put": add(table, job, over)}, _condition(table, check)]}


def _over_done(seen: Job) -> Item:
    values = {":done": text(JobState.DONE), ":seen": number(seen.generation)}
    return expression(values, ConditionExpression=OVER_DONE)


def _condition(table: str, check: Check) -> Item:
    request = {"TableName": table, "Key": items.job_row(check.key)}
    if check.seen is None:
        return {"ConditionCheck": request | {"ConditionExpression": ABSENT}}
    return {"ConditionCheck": items.SCHEMA.guarded(request | _over_done(check.seen))}


def collide(table: str, seen: Job) -> Item:
    """Count a rejected add on the live job."""
    return _update(
        table,
        items.job_row(seen.key),
        "ADD #collisions :one",
        "#job_id = :job AND #st <> :done",
        {":one": number(1), ":job": text(seen.id), ":done": text(JobState.DONE)},
    )


def rerun(table: str, seen: Job, requested: Rerun) -> Item:
    """Request one more run of a busy job, over the rerun that was seen.

    The condition compares the generation, which a revival changes, so that a delayed request fails.
    """
    asked = lifecycle.rerun_requested(seen, requested)
    facts = items.rerun_facts(asked.rerun)
    if seen.rerun is not None:
        facts |= items.before_fact(asked)
    optional = [name for name in ("rerun_payload", "rerun_item") if name not in facts]
    sets = ", ".join(f"#{name} = :{name}" for name in facts)
    update = f"SET {sets}" + (" REMOVE " + ", ".join(f"#{name}" for name in optional) if optional else "")
    guard, values = _rerun_unchanged(seen)
    values |= {f":{name}": value for name, value in facts.items()}
    values |= {":busy": text(JobState.BUSY), ":job": text(seen.id), ":generation": number(seen.generation)}
    guard = f"#st = :busy AND #job_id = :job AND #generation = :generation AND {guard}"
    return _update(table, items.job_row(seen.key), update, guard, values)


def claim(table: str, seen: Entry, session: str, claim_id: str, at: int) -> Item:
    """Make a ready job busy, if it was not claimed since it was seen."""
    values = {
        ":busy": text(JobState.BUSY),
        ":ix": text(order.busy(session, at)),
        ":session": text(session),
        ":claim": text(claim_id),
        ":at": number(at),
        ":one": number(1),
        ":queued": number(max(0, at - seen.ready_us)),
        ":ready": text(JobState.READY),
        ":job": text(seen.job_id),
        ":seen": number(seen.deliveries),
    }
    return _update(
        table,
        items.job_row(seen.key),
        "SET #st = :busy, #ix = :ix, #session = :session, #claim = :claim, #claimed_us = :at"
        " ADD #deliveries :one, #queued_us :queued",
        "#st = :ready AND #job_id = :job AND #deliveries = :seen",
        values,
    )


def give_back(table: str, seen: Entry, release: GivenBack) -> Item:
    """Make a busy job ready at its old position, or delayed, if the claim still holds."""
    state = JobState.READY if release.due_us is None else JobState.DELAYED
    values = {
        ":st": text(state),
        ":from": number(release.at if release.due_us is None else release.due_us),
        ":failed": number(int(release.failed)),
        ":worked": number(lifecycle.worked(seen.claimed_us, release.at)),
        ":claim": text(seen.claim or ""),
    }
    position = "#ro"
    if release.due_us is not None:
        position, values[":ix"] = ":ix", text(order.delayed(release.due_us))
    return _update(
        table,
        items.job_row(seen.key),
        f"SET #st = :st, #ix = {position}, #ready_us = :from REMOVE #session, #claim, #claimed_us"
        " ADD #failures :failed, #busy_us :worked",
        "#claim = :claim",
        values,
    )


def end(table: str, job: Job, at: int) -> tuple[str, Item]:
    """Return the action that ends a job under its claim: its name in a transaction, and the request."""
    guard, values = _rerun_unchanged(job)
    guard = f"#claim = :claim AND {guard}"
    values[":claim"] = text(job.claim or "")
    if job.rerun is not None:
        put = {"TableName": table, "Item": items.job_item(lifecycle.ended(job, at))}
        put["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return "Put", items.SCHEMA.guarded(put | expression(values, ConditionExpression=guard))
    values |= {":done": text(JobState.DONE), ":at": number(at)}
    values |= {":worked": number(lifecycle.worked(job.claimed_us, at))}
    values[":ttl"] = number(items.mark_ttl(at))
    update = (
        "SET #st = :done, #done_by = :claim, #done_us = :at, #ttl = :ttl"
        " REMOVE #session, #claim, #claimed_us, #payload, #ix ADD #busy_us :worked"
    )
    return "Update", _update(table, items.job_row(job.key), update, guard, values)


def end_with(table: str, job: Job, at: int, writes: Sequence[Mapping[str, Any]], dead: Dead | None) -> Item:
    """One transaction: the end of the job, the dead record, the outbox entry, then the user's writes."""
    kind, action = end(table, job, at)
    action.pop("ReturnValues", None)
    actions: list[Item] = [{kind: action}]
    queue, entry = job.key.part.queue, lifecycle.outbox_entry(job, dead)
    records = [items.dead_item(dead)] if dead else []
    records += [items.outbox_item(queue, entry)] if entry else []
    actions += [{"Put": {"TableName": table, "Item": record}} for record in records]
    return {"TransactItems": [*actions, *(dict(write) for write in writes)]}


def promote(table: str, seen: Entry, at: int) -> Item:
    """Make a delayed job ready at its old position."""
    values = {":ready": text(JobState.READY), ":at": number(at), ":delayed": text(JobState.DELAYED)}
    return _update(
        table,
        items.job_row(seen.key),
        "SET #st = :ready, #ix = #ro, #ready_us = :at",
        "#st = :delayed AND #job_id = :job AND #ix = :seen",
        values | {":job": text(seen.job_id), ":seen": text(seen.ix)},
    )


def delete_outbox_entry(table: str, queue: QueueKey, entry: OutboxEntry) -> Item:
    """Delete a reported outbox entry; repeatable."""
    row = items.outbox_row(queue, entry)
    values = {":failed": {"BOOL": entry.failed}}
    request = {"TableName": table, "Key": row}
    return items.SCHEMA.guarded(request | expression(values, ConditionExpression="#failed = :failed"))


def revive(table: str, dead: Dead, job: Job, over: Job | None, check: Check | None) -> Item:
    """One transaction: delete the record of the dead job, and store the job as an add does."""
    actions = [{"Delete": remove_dead(table, dead)}, {"Put": add(table, job, over)}]
    return {"TransactItems": actions + ([_condition(table, check)] if check else [])}


def remove(table: str, seen: Job, entries: Sequence[OutboxEntry]) -> Item:
    """One transaction: delete a job that is as it was seen, and store the outbox entries of its items."""
    guard, values = _unchanged(seen)
    delete = {"TableName": table, "Key": items.job_row(seen.key)}
    delete = items.SCHEMA.guarded(delete | expression(values, ConditionExpression=guard))
    return {"TransactItems": [{"Delete": delete}, *_puts(table, seen, entries)]}


def delete(table: str, seen: Job, at: int, deletion: str) -> Item:
    """Store a mark over the queued or delayed job as it was seen."""
    guard, values = _unchanged(seen)
    values |= {":done": text(JobState.DONE), ":at": number(at), ":ttl": number(items.mark_ttl(at))}
    values[":deletion"] = text(deletion)
    gone = ", ".join(f"#{name}" for name in ("payload", "ix", *items.RERUN))
    update = f"SET #st = :done, #done_by = :deletion, #done_us = :at, #ttl = :ttl REMOVE {gone}"
    return _update(table, items.job_row(seen.key), update, guard, values)


def delete_with(table: str, seen: Job, entries: Sequence[OutboxEntry], update: Item) -> Item:
    """One transaction: the *update* of ``delete``, and the outbox entries of the job's items."""
    action = {name: value for name, value in update.items() if name != "ReturnValues"}
    return {"TransactItems": [{"Update": action}, *_puts(table, seen, entries)]}


def remove_dead(table: str, dead: Dead) -> Item:
    """Delete the record of a dead job."""
    record = {"TableName": table, "Key": items.dead_row(dead)}
    record |= expression({":claim": text(dead.job.claim or "")}, ConditionExpression="#claim = :claim")
    return items.SCHEMA.guarded(record)


def move(table: str, seen: Job, job: Job, over: Job | None, at: int) -> Item:
    """One transaction: store a job in its new part, and a mark in place of the waiting one that was seen."""
    mark = items.job_item(lifecycle.moved_mark(seen, at)) | {"ttl": number(items.mark_ttl(at))}
    same = {
        "st": text(seen.state),
        "job_id": text(seen.id),
        "ix": text(seen.ix or ""),
        "generation": number(seen.generation),
        "deliveries": number(seen.deliveries),
        "collisions": number(seen.collisions),
    }
    values = {f":{name}": value for name, value in same.items()}
    guard = " AND ".join(f"#{name} = :{name}" for name in same)
    put = {"TableName": table, "Item": mark} | expression(values, ConditionExpression=guard)
    return {"TransactItems": [{"Put": add(table, job, over)}, {"Put": items.SCHEMA.guarded(put)}]}


def peek_config(table: str, queue: QueueKey) -> Item:
    """Read what a config row counts, perhaps as it was some time before."""
    request = {"TableName": table, "Key": items.config_row(queue), "ConsistentRead": False}
    return request | expression({}, ProjectionExpression=f"#pk, #revision, #changes, #{VERSION}")


def enter(table: str, queue: QueueKey, member: Member) -> Item:
    """Store a new session."""
    item = items.member_item(queue, member)
    return {"TableName": table, "Item": item, "ConditionExpression": ABSENT}


def beat(table: str, queue: QueueKey, session: str, expires_us: int) -> Item:
    """Write a heartbeat of a live session."""
    values = {":expires": number(expires_us), ":ttl": number(items.session_ttl(expires_us))}
    return _update(
        table,
        items.session_row(queue, session),
        "SET #expires_us = :expires, #ttl = :ttl ADD #hb :one",
        "#st = :live",
        values | {":one": number(1), ":live": text("live")},
    )


def end_session(table: str, queue: QueueKey, session: str, heartbeats: int | None) -> Item:
    """Mark a live session dead, if it has had *heartbeats* (None: any number)."""
    values, guard = {":dead": text("dead"), ":live": text("live")}, "#st = :live"
    if heartbeats is not None:
        guard, values[":seen"] = f"{guard} AND #hb = :seen", number(heartbeats)
    return _update(table, items.session_row(queue, session), "SET #st = :dead", guard, values)


def forget(table: str, queue: QueueKey, session: str) -> Item:
    """Delete a dead session."""
    request = {"TableName": table, "Key": items.session_row(queue, session)}
    dead = expression({":dead": text("dead")}, ConditionExpression="#st = :dead")
    return items.SCHEMA.guarded(request | dead)


def read(table: str, key: Item) -> Item:
    """Read one row consistently."""
    return {"TableName": table, "Key": key, "ConsistentRead": True}


def listed(table: str, pk: Item, prefix: str, **more: Any) -> Item:
    """Query the rows of a partition whose ``ix`` begins with *prefix*, in order."""
    values = {":pk": pk, ":prefix": text(prefix)}
    return query(table, "#pk = :pk AND begins_with(#ix, :prefix)", values) | more


def outstanding(table: str, part: PartKey, now: int) -> Item:
    """Query the busy rows and the due delayed ones, which are adjacent in the index."""
    values = {":pk": items.part_pk(part), ":low": text(order.BUSY), ":high": text(order.delayed(now))}
    return query(table, "#pk = :pk AND #ix BETWEEN :low AND :high", values)


def partition(table: str, pk: Item) -> Item:
    """Query every row of a partition."""
    request = {"TableName": table, "ConsistentRead": True}
    return request | expression({":pk": pk}, KeyConditionExpression="#pk = :pk")


def first(table: str, part: PartKey) -> Item:
    """Query the live jobs of a part in the order of the index."""
    return query(table, "#pk = :pk", {":pk": items.part_pk(part)})


def page(table: str, part: PartKey, after: str, limit: int) -> Item:
    """Query the rows of a part by sort key, from *after* on."""
    values, guard = {":pk": items.part_pk(part)}, "#pk = :pk"
    if after:
        values[":after"], guard = text(after), f"{guard} AND #sk > :after"
    request = {"TableName": table, "ConsistentRead": True, "Limit": limit}
    return request | expression(values, KeyConditionExpression=guard)


def queues(table: str, listed: str = items.LISTED) -> Item:
    """Query the config rows in one partition of the index of queues."""
    request = {"TableName": table, "IndexName": QUEUES_INDEX}
    return request | expression({":listed": text(listed)}, KeyConditionExpression="#listed = :listed")


def query(table: str, condition: str, values: Item) -> Item:
    """Query the index of jobs consistently."""
    request = {"TableName": table, "IndexName": JOBS_INDEX, "ConsistentRead": True}
    return request | expression(values, KeyConditionExpression=condition)


def _unchanged(seen: Job) -> tuple[str, Item]:
    """Return the condition ``lifecycle.is_unchanged`` of a job, and its values."""
    guard, values = _rerun_unchanged(seen)
    guard = f"#st = :st AND #job_id = :job AND #generation = :generation AND #added_us = :added AND {guard}"
    values |= {":st": text(seen.state), ":job": text(seen.id)}
    values |= {":generation": number(seen.generation), ":added": number(seen.added_us)}
    if seen.claim is None:
        return guard, values
    return f"{guard} AND #claim = :claim", values | {":claim": text(seen.claim)}


def _puts(table: str, job: Job, entries: Sequence[OutboxEntry]) -> list[Item]:
    """Return the actions that store outbox entries of a job."""
    records = [items.outbox_item(job.key.part.queue, entry) for entry in entries]
    return [{"Put": {"TableName": table, "Item": record}} for record in records]


def _rerun_unchanged(seen: Job) -> tuple[str, Item]:
    """Return the condition that no rerun was requested since the job was seen, and its values."""
    if seen.rerun is None:
        return "attribute_not_exists(#rerun_id)", {}
    return "#rerun_id = :rerun", {":rerun": text(seen.rerun.id)}


def _update(table: str, key: Item, update: str, guard: str, values: Item) -> Item:
    request = {"TableName": table, "Key": key, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    expressions = {"UpdateExpression": update, "ConditionExpression": guard}
    request |= {"ReturnValues": "ALL_NEW"}
    return items.SCHEMA.guarded(request | expression(values, **expressions))


def expression(values: Item, **expressions: str) -> Item:
    """Return expressions with their names (``#name``), many of which are reserved words of DynamoDB."""
    names = {name: name[1:] for text_ in expressions.values() for name in re.findall(r"#\w+", text_)}
    filled = {"ExpressionAttributeValues": values} if values else {}
    return {**expressions, "ExpressionAttributeNames": names, **filled}
