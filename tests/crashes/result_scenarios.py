"""Scenarios of the handlers that keep, fix, read and remove the results of items."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from fanin.client.queues.handing_queue import HandingQueue
from fanin.client.queues.job_acks import ItemResults
from fanin.tracker import Ack
from functions.wiring import tracking
from tests.crashes import group_scenarios as groups
from tests.crashes import job_scenarios as jobs
from tests.crashes.account import Account
from tests.crashes.naming import TENANT
from tests.crashes.scenario import Delivery, Duty, Event, Messages, Request, Scenario
from tests.crashes.tracker_scenarios import (
    BY_WHOM,
    NEXT_SWEEP,
    TIMES,
    _stream_record,
    added,
    closed,
    confirmed,
    opened,
)

DAYS = timedelta(days=500)
"""After these every batch has expired."""


def returned(items: list[str]) -> None:
    """Ack *items* with results, each in a part of its own."""
    for item in items:
        tracking.tracker().ack(TENANT, [Ack.of(item, "worker", result=json.dumps(item[-1]))])


def ended() -> tuple[str, list[str]]:
    """Return a batch that has ended with results, and its items."""
    batch = opened(results=True)
    items = added(batch, 5)
    closed(batch)
    returned(items)
    return batch, items


def _ack(_: Account) -> Delivery:
    batch = opened(results=True)
    items = added(batch)
    closed(batch)
    return Request("POST", "/v1/acks", {"acks": [{"itemId": item, "result": item[-1]} for item in items]})


def _consume(_: Account) -> Delivery:
    batch = opened(results=True)
    items = added(batch, 3)
    closed(batch)
    return Messages(tuple(json.dumps({"itemId": item, "result": item[-1]}) for item in items))


def _handle(account: Account) -> Delivery:
    """A batch API that returns the result of each task."""
    groups.bundled(account, results=True)
    account.outside.returns = True
    return groups.delivered("bundles", account)


def _sweep_jobs(_: Account) -> Delivery:
    """Jobs that a worker ended with results; it crashed before their acks."""
    jobs.with_items(results=True)
    context = replace(jobs.queue().context, report=None)
    results = ItemResults(replace(tracking.transport(), tenant=TENANT))
    with HandingQueue(context, lambda _: lambda: None, results) as queue, queue.take(3, wait=0) as taken:
        for job in list(taken):
            taken.ack(job, result=job.name)
    return Event({})


def _read(_: Account) -> Delivery:
    return Request("GET", f"/v1/batches/{ended()[0]}/results")


def _read_one(_: Account) -> Delivery:
    batch, items = ended()
    return Request("GET", f"/v1/batches/{batch}/results", query={"item": items[2]})


def _read_again(account: Account) -> Delivery:
    """The client repeats the request until the results are gathered."""
    rows = [row for name, row in account.rows() if name == "Batches"]
    batches = [row["batchId"]["S"] for row in rows if "batchId" in row]
    return Request("GET", f"/v1/batches/{batches[0]}/results")


def _gathered() -> str:
    batch, _ = ended()
    tracker = tracking.tracker()
    tracking.results().gathered(tracker.get(TENANT, batch), tracker.store)
    confirmed(batch)
    return batch


def _delete(_: Account) -> Delivery:
    return Request("DELETE", f"/v1/batches/{_gathered()}")


def _delete_many(account: Account) -> Delivery:
    _gathered()
    account.clock.pass_by(timedelta(minutes=1))
    return Request("DELETE", "/v1/batches", query={"endedBefore": "2026-03-01T12:00:30Z"})


def _expire(account: Account) -> Delivery:
    _gathered()
    account.clock.pass_by(DAYS)
    return Event({})


COUNTED = {"counted_us", "dead_us"}
"""When a sweep counted the jobs: a queue without any is visited every five minutes."""
AGAIN = (Duty("get_results", delivery=_read_again),)

RESULTS = [
    Scenario("ack_items", "with results, the last ones", _ack, free_answer=True),
    Scenario("consume_acks", "with results", _consume, fresh=BY_WHOM),
    Scenario("handle_bundle", "with results", _handle, groups.HEALED, groups.BY_DESIGN, groups.DIVIDED),
    Scenario("sweep_jobs", "ends with results", _sweep_jobs, jobs.HEALED, jobs.BY_DESIGN | COUNTED),
    Scenario(
        "publish_endings", "a batch with results", lambda _: Event({"Records": [_stream_record(ended()[0])]})
    ),
    Scenario("get_results", "of a batch", _read, AGAIN, free_answer=True),
    Scenario("get_results", "of an item", _read_one, AGAIN, free_answer=True),
    Scenario("delete_batch", "with results", _delete, NEXT_SWEEP * 2, fresh=TIMES),
    Scenario("delete_batches", "one with results", _delete_many, NEXT_SWEEP * 2, TIMES, free_answer=True),
    Scenario("sweep", "a batch with results has expired", _expire, NEXT_SWEEP * 2, fresh=TIMES),
]
