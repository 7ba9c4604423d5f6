"""Converts the group-batcher's values to DynamoDB items and back.

Times are stored in whole microseconds, so a value that is read equals the value that was written.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from fanin.aws.dynamodb.rows import Item, number, text
from fanin.aws.dynamodb.schema import Schema
from fanin.grouper.rules.ids import slot_of
from fanin.grouper.rules.model import (
    Bundle,
    BundleKey,
    BundleState,
    Candidate,
    Lane,
    Lease,
    Outcome,
    Task,
    TaskKey,
    TaskState,
    Verdict,
)
from fanin.grouper.rules.order import EPOCH, order_of

SCHEMA = Schema(newest=1)
"""Each row has its own version, which every write to it compares."""
MICROSECOND = timedelta(microseconds=1)
LIVE_SHARDS = 4
PART_LEASE_KEPT = timedelta(days=30)


def instant(at: datetime) -> Item:
    return number((at - EPOCH) // MICROSECOND)


def time_to_live(at: datetime) -> Item:
    return number((at - EPOCH) // timedelta(seconds=1))


def names(members: tuple[str, ...]) -> Item:
    return {"L": [text(name) for name in members]}


def task_key(key: TaskKey) -> Item:
    return {"pk": text(str(key))}


def bundle_key(key: BundleKey) -> Item:
    return {"pk": text(str(key))}


def lane_key(lane: Lane) -> Item:
    return {"lane": text(str(lane))}


def live_shard(key: BundleKey) -> str:
    """Return the shard of the index of live bundles that holds a bundle."""
    return str(slot_of(str(key), LIVE_SHARDS))


def task_item(task: Task) -> Item:
    """Return the row of a task. Only an open task has *lane* and *order*, so the index holds open tasks."""
    item = {
        "pk": text(str(task.key)),
        "tenant": text(task.tenant),
        "taskId": text(task.task_id),
        "target": text(task.target),
        "shard": text(task.shard),
        "state": text(task.state),
        "payload": text(task.payload),
        "priority": number(task.priority),
        "attempts": number(task.attempts),
        "createdAt": instant(task.created_at),
        "dueAt": instant(task.due_at),
        "expiresAt": instant(task.expires_at),
        "ttl": time_to_live(task.expires_at),
        "detail": text(task.detail),
    }
    optional = {"itemId": task.item_id, "bundleId": task.bundle_id}
    item |= {name: text(value) for name, value in optional.items() if value is not None}
    return item | open_keys(task) if task.state is TaskState.CREATED else item


def open_keys(task: Task) -> Item:
    """Return the keys of the index of open tasks."""
    return {"lane": text(str(task.lane)), "order": text(order_of(task))}


def task_of(item: Item) -> Task:
    item = SCHEMA.checked("task", item)
    return Task(
        tenant=item["tenant"]["S"],
        task_id=item["taskId"]["S"],
        target=item["target"]["S"],
        shard=item["shard"]["S"],
        state=TaskState(item["state"]["S"]),
        payload=item["payload"]["S"],
        priority=int(item["priority"]["N"]),
        item_id=_text(item, "itemId"),
        attempts=int(item["attempts"]["N"]),
        created_at=time(item, "createdAt"),
        due_at=time(item, "dueAt"),
        expires_at=time(item, "expiresAt"),
        bundle_id=_text(item, "bundleId"),
        detail=item["detail"]["S"],
    )


def candidate_of(item: Item) -> Candidate:
    return Candidate(lane_of(item), item["taskId"]["S"], time(item, "dueAt"))


def lane_of(item: Item) -> Lane:
    return Lane(item["tenant"]["S"], item["target"]["S"], item["shard"]["S"])


def lease_of(lane: Lane, item: Item) -> Lease:
    item = SCHEMA.checked("lease", item)
    return Lease(lane, int(item["fence"]["N"]), _text(item, "holder"), time(item, "until"))


def full_at_of(item: Item) -> datetime:
    """Return when the rate bucket of a row is full again."""
    return time(SCHEMA.checked("rate bucket", item), "fullAt")


def bundle_of(item: Item) -> Bundle:
    item = SCHEMA.checked("bundle", item)
    return Bundle(
        lane=lane_of(item),
        fence=int(item["fence"]["N"]),
        state=BundleState(item["state"]["S"]),
        members=tuple(name["S"] for name in item.get("members", {"L": []})["L"]),
        version=int(item["version"]["N"]),
        created_at=time(item, "createdAt"),
        expires_at=time(item, "expiresAt"),
        attempt=int(item["attempt"]["N"]),
        owner=_text(item, "owner"),
        call_until=_time(item, "callUntil"),
        not_before=_time(item, "notBefore"),
        outcomes=_outcomes(item),
    )


def bundle_key_of(item: Item) -> BundleKey:
    return BundleKey(item["tenant"]["S"], item["bundleId"]["S"])


def outcomes_text(outcomes: tuple[Outcome, ...]) -> Item:
    """Return verdicts and details as compact JSON: one row for each member, in their order."""
    rows = [[outcome.verdict, outcome.detail] for outcome in outcomes]
    return text(json.dumps(rows, separators=(",", ":"), ensure_ascii=False))


def _outcomes(item: Item) -> tuple[Outcome, ...]:
    rows = json.loads(item.get("outcomes", {"S": "[]"})["S"])
    return tuple(Outcome(Verdict(verdict), detail) for verdict, detail in rows)


def time(item: Item, name: str) -> datetime:
    return EPOCH + int(item[name]["N"]) * MICROSECOND


def _time(item: Item, name: str) -> datetime | None:
    return time(item, name) if name in item else None


def _text(item: Item, name: str) -> str | None:
    value: str | None = item.get(name, {}).get("S")
    return value
