"""Scenarios of the group-batcher's handlers."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any

from fanin.grouper import NewTask
from functions.wiring import grouping
from tests.crashes.account import Account
from tests.crashes.naming import TENANT, queue_arn
from tests.crashes.scenario import Delivery, Duty, Event, Messages, Request, Scenario
from tests.crashes.tracker_scenarios import BY_WHOM, TIMES, added, closed, opened

TARGET = "libs"
LEASE = timedelta(minutes=2)
"""Longer than the leases of a leader and of a call."""


def task_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def registered(count: int, items: list[str] | None = None) -> None:
    """Register tasks, each with one of *items*."""
    for number in range(count):
        item = items[number] if items else None
        grouping.registering().register(TENANT, NewTask(number, TARGET, task_id(number), item_id=item))


def taken(queue: str, account: Account) -> Delivery | None:
    """Return the messages that were sent to *queue* since, as one delivery."""
    bodies = account.outside.take(queue)
    return Messages(bodies, queue_arn(queue)) if bodies else None


def delivered(queue: str, account: Account) -> Delivery:
    found = taken(queue, account)
    if found is None:
        raise AssertionError(f"nothing was sent to {queue}")
    return found


def to_bundle(account: Account, count: int = 5, **options: Any) -> None:
    """Register tasks with the items of a closed batch, which are due."""
    batch = opened(**options)
    registered(count, added(batch, count))
    closed(batch)
    account.clock.pass_by(timedelta(seconds=2))


def bundled(account: Account, count: int = 5, **options: Any) -> None:
    """Let tasks become bundles."""
    to_bundle(account, count, **options)
    delivery: Delivery | None = delivered("tasks", account)
    while delivery is not None:
        _, delivery = delivery.invoke("lead_tasks", ENOUGH)


class Enough:
    """A context with time for everything."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


ENOUGH: Any = Enough()
ROUND = (
    Duty("lead_tasks", LEASE, partial(taken, "tasks")),
    Duty("handle_bundle", LEASE, partial(taken, "bundles")),
)
HEALED = (*ROUND, Duty("sweep_groups", timedelta(hours=1)), *ROUND, *ROUND)
"""Messages come again after the leases of a crashed process; the sweep sends those that were lost."""
BY_DESIGN = TIMES | BY_WHOM | {"bundleId", "attempts", "updatedAt", "order"}
DIVIDED = frozenset({"GroupBundles", "GroupLeases"})
"""A crashed leader's bundle is sealed with the tasks that it had, and the rest goes into others."""


def _register(_: Account) -> Delivery:
    item = added(opened(), 1)[0]
    return Request(
        "POST", "/v1/tasks", {"payload": 1, "target": TARGET, "taskId": task_id(1), "itemId": item}
    )


def _register_many(_: Account) -> Delivery:
    tasks = [{"payload": number, "target": TARGET} for number in range(12)]
    return Request("POST", "/v1/tasks", {"tasks": tasks})


def _read(path: str, account: Account, **query: str) -> Delivery:
    bundled(account)
    return Request("GET", path, query=query or None)


def _get_bundle(account: Account) -> Delivery:
    bundled(account)
    bundle = json.loads(account.outside.take("bundles")[0])["bundleId"]
    return Request("GET", f"/v1/bundles/{bundle}")


def _consume(_: Account) -> Delivery:
    items = added(opened(), 12)
    return Messages(tuple(json.dumps({"payload": 1, "target": TARGET, "itemId": item}) for item in items))


def _lead(account: Account) -> Delivery:
    to_bundle(account)
    return delivered("tasks", account)


def _handle(account: Account) -> Delivery:
    bundled(account)
    return delivered("bundles", account)


def _refused(account: Account) -> Delivery:
    bundled(account, 2)
    account.outside.status = 400
    return delivered("bundles", account)


def _sweep(account: Account) -> Delivery:
    """Bundles whose messages were lost, and a task whose message was lost."""
    bundled(account)
    grouping.registering().register(TENANT, NewTask(9, "other", task_id(9)))
    for queue in ("tasks", "bundles"):
        account.outside.take(queue)
    account.clock.pass_by(timedelta(hours=1))
    return Event({})


GROUPS = [
    Scenario("register_task", "a task with an item", _register),
    Scenario("register_task", "twelve tasks", _register_many),
    Scenario("list_tasks", "bundled ones", partial(_read, "/v1/tasks", target=TARGET, state="BUNDLED")),
    Scenario("get_task", "a bundled one", partial(_read, f"/v1/tasks/{task_id(1)}")),
    Scenario("list_bundles", "of a target", partial(_read, "/v1/bundles", target=TARGET)),
    Scenario("get_bundle", "a ready one", _get_bundle),
    Scenario("list_targets", "all", partial(_read, "/v1/targets")),
    Scenario("consume_tasks", "twelve messages", _consume),
    Scenario("lead_tasks", "five tasks, in bundles of four", _lead, HEALED, BY_DESIGN, DIVIDED),
    Scenario("handle_bundle", "all succeed, and their batch ends", _handle, HEALED, BY_DESIGN, DIVIDED),
    Scenario(
        "handle_bundle",
        "refused, and divided until each failed",
        _refused,
        (*HEALED, *ROUND),
        BY_DESIGN,
        DIVIDED,
    ),
    Scenario("sweep_groups", "lost messages", _sweep, HEALED, BY_DESIGN, DIVIDED),
]
