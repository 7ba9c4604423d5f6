"""Scenarios of the work queues' handlers, of the archive and of the webhooks."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from fanin.queue import NewJob, Options, Queue, QueueKey
from functions.wiring import queueing
from tests.change_archive.streams import record
from tests.crashes.account import Account, Killed
from tests.crashes.group_scenarios import ENOUGH, delivered, taken
from tests.crashes.naming import CONSUMER, TENANT
from tests.crashes.scenario import Delivery, Duty, Event, Messages, Request, Scenario
from tests.crashes.tracker_scenarios import BY_WHOM, TIMES, added, closed, opened

QUEUE = "demo"
PARTS = 2
EXPIRED = timedelta(minutes=20)
"""Longer than the session of a function that has crashed."""


def _doorbell(account: Account) -> str:
    return next(name for name in account.outside.queues if name.startswith("doorbell"))


def _rung(account: Account) -> Delivery | None:
    """Return the rings since, each in an invocation of its own; None for a queue that was removed."""
    return taken(_doorbell(account), account) if account.outside.queues else None


HEALED = (
    Duty("sweep_jobs", EXPIRED),
    Duty(CONSUMER, delivery=_rung),
    Duty("sweep_jobs", EXPIRED),
    Duty(CONSUMER, delivery=_rung),
    Duty("sweep_jobs", EXPIRED),
)
"""The sweep frees the claims of a crashed session, rings again, and reports what was not reported."""
BY_DESIGN = frozenset(
    {
        *("claim", "session", "deliveries", "claimed_us", "done_us", "done_by", "ready_us", "collisions"),
        "busy_us",
    }
    | {"processedAt", "ix", "queued_us", "idle_us", "asleep_us", "listed", "revision"}
    | TIMES
    | BY_WHOM
)


def queue(name: str = QUEUE) -> Any:
    return queueing.created(TENANT, name)


def with_jobs(count: int = 3, items: list[str] | None = None) -> None:
    """Add jobs with fixed ids, each with one of *items*."""
    queueing.creator().ensure(QueueKey(TENANT, QUEUE), PARTS)
    queue().add_all(
        [NewJob(f"job-{n}", id=f"id-{n}", item_id=items[n] if items else None) for n in range(count)]
    )


def with_items(count: int = 3, **options: Any) -> None:
    batch = opened(**options)
    with_jobs(count, added(batch, count))
    closed(batch)


def with_dead(account: Account, count: int = 2) -> list[str]:
    """Let jobs fail once too often, and return the ids of the dead ones."""
    with_jobs(count)
    context = replace(queue().context, options=Options(max_failures=1))
    with Queue(context, background=lambda _: lambda: None) as failing, failing.take(count, wait=0) as jobs:
        for job in list(jobs):
            jobs.release(job, failed=True, error="broken")
    answer, _ = Request("GET", f"/v1/queues/{QUEUE}/jobs", query={"state": "dead"}).invoke(
        "list_jobs", ENOUGH
    )
    return [each["deadId"] for each in answer[1]["jobs"]]


def _add(_: Account) -> Delivery:
    items = added(opened(), 3)
    jobs = [{"key": f"job-{n}", "payload": str(n), "itemId": item} for n, item in enumerate(items)]
    return Request("POST", f"/v1/queues/{QUEUE}/jobs", {"jobs": jobs})


def _put(_: Account) -> Delivery:
    return Request("PUT", f"/v1/queues/{QUEUE}", {"parts": 4, "metrics": True})


def _get(path: str, _: Account) -> Delivery:
    with_jobs()
    return Request("GET", path)


def _pause(_: Account) -> Delivery:
    with_jobs()
    return Request("POST", f"/v1/queues/{QUEUE}/pause")


def _resume(account: Account) -> Delivery:
    with_jobs()
    Request("POST", f"/v1/queues/{QUEUE}/pause").invoke("pause_queue", ENOUGH)
    account.outside.take(_doorbell(account))
    return Request("POST", f"/v1/queues/{QUEUE}/resume")


def _revive(account: Account) -> Delivery:
    return Request("POST", f"/v1/queues/{QUEUE}/dead/revive", {"deadIds": with_dead(account)})


def _delete(account: Account) -> Delivery:
    dead = with_dead(account)
    batch = opened()
    with_jobs(3, added(batch, 3))
    closed(batch)
    body = {"keys": [f"job-{n}" for n in range(3)], "deadIds": dead}
    return Request("POST", f"/v1/queues/{QUEUE}/jobs/delete", body)


def _remove(_: Account) -> Delivery:
    with_items()
    return Request("DELETE", f"/v1/queues/{QUEUE}", query={"force": "true"})


def _work(account: Account) -> Delivery:
    with_items()
    return delivered(_doorbell(account), account)


def _sweep(account: Account) -> Delivery:
    """A function that crashed with its claims, a due job, and an end that was not reported."""
    with_items()
    queue().add_all([NewJob("later", id="later", delay=60)])
    delivery = delivered(_doorbell(account), account)

    def kill(number: int) -> None:
        if number == 12:
            account.kill()

    account.restart()
    account.after = kill
    try:
        delivery.invoke(CONSUMER, ENOUGH)
    except Killed:
        account.restart()
    account.clock.pass_by(EXPIRED)
    return Event({})


def _publish(account: Account) -> Delivery:
    with_dead(account)
    rows = [row for name, row in account.rows() if name == "Queue" and row["pk"]["S"].startswith("D#")]
    return Event({"Records": [record(row, table="Queue", number=n) for n, row in enumerate(rows, 1)]})


def _archive(account: Account) -> Delivery:
    added(opened(), 3)
    rows = [row for name, row in account.rows() if name == "Batches" and row["sk"]["S"] == "batch"]
    return Event({"Records": [record(row, table="Batches", number=n) for n, row in enumerate(rows, 1)]})


def _call(_: Account) -> Delivery:
    bodies = [json.dumps({"callback": "hook", "eventId": f"batch-{n}:COMPLETE"}) for n in range(3)]
    return Messages((*bodies, "no event"))


JOBS = [
    Scenario("add_jobs", "three with items, to a new queue", _add),
    Scenario("put_queue", "a new one", _put, free_answer=True),
    Scenario("list_jobs", "queued ones", partial(_get, f"/v1/queues/{QUEUE}/jobs")),
    Scenario("list_queues", "all", partial(_get, "/v1/queues")),
    Scenario("get_queue", "one", partial(_get, f"/v1/queues/{QUEUE}")),
    Scenario("list_sessions", "none", partial(_get, f"/v1/queues/{QUEUE}/sessions")),
    Scenario("pause_queue", "with jobs", _pause),
    Scenario("resume_queue", "with jobs", _resume),
    Scenario("revive_jobs", "two dead ones", _revive, free_answer=True),
    Scenario("delete_jobs", "queued and dead ones", _delete, HEALED, BY_DESIGN, free_answer=True),
    Scenario("remove_queue", "by force", _remove, (*HEALED, *HEALED), BY_DESIGN),
    Scenario(CONSUMER, "three jobs with items", _work, HEALED, BY_DESIGN),
    Scenario("sweep_jobs", "claims of a crashed function", _sweep, HEALED, BY_DESIGN),
    Scenario("publish_dead_jobs", "two of them", _publish),
    Scenario("archive_changes", "two batches", _archive),
    Scenario("call_webhook", "three events, and one message that is none", _call, returns=True),
]
