"""Flows over the deployed functions: each acts, and returns what must hold when everything has settled."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from examples.catalog.functions.queueing import QUEUE
from fanin.errors import StoreUnavailable
from fanin.queue.rules.errors import LostClaim, SessionLost
from tests.soak.wire.site import Site

ROUNDS = 60


@dataclass
class Expected:
    """What a flow expects: *batch* COMPLETE with these items failed; *tasks* and *jobs* done once.

    *wrong*: what it saw on the way that must not be.
    """

    flow: str
    seed: int
    batch: str
    items: list[str]
    failed: set[str] = field(default_factory=set)
    tasks: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    parents: list[Expected] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Flow:
    """One schedule: *chance* decides everything that it does."""

    site: Site
    seed: int
    name: str = ""
    keys: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def key(self) -> str:
        """Return a new idempotency key, the same in a replay."""
        self.keys += 1
        return f"{self.name}-{self.site.proxy.seed}-{self.seed}-{self.keys}"

    def opened(self, **spec: Any) -> str:
        batch: str = self.site.api.post("/v1/batches", spec, self.key())["batchId"]
        return batch

    def added(self, batch: str, count: int) -> list[str]:
        path = f"/v1/batches/{batch}/items"
        (group,) = self.site.api.post(path, {"count": count}, self.key())["groups"]
        return [f"{batch}:{group['id']}:{index}" for index in range(count)]

    def close(self, batch: str) -> None:
        self.site.api.post(f"/v1/batches/{batch}/close", {}, self.key())

    def prepared(self, flow: str, most: int = 14, **spec: Any) -> Expected:
        """Open a batch and add items to it, in one to three requests."""
        self.name = flow
        batch = self.opened(**spec)
        items: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            items += self.added(batch, self.chance.randint(1, most))
        return Expected(flow, self.seed, batch, items)

    def chunks(self, items: list[str]) -> list[list[str]]:
        """Return *items*, shuffled and divided, with some of them twice."""
        shuffled = [*items, *self.chance.sample(items, len(items) // 4)]
        self.chance.shuffle(shuffled)
        size = self.chance.randint(1, 6)
        return [list(dict.fromkeys(shuffled[at : at + size])) for at in range(0, len(shuffled), size)]


def over_http(flow: Flow) -> Expected:
    """Acks over HTTP, some of them failures, with a close at any place; the outstanding list is read."""
    expected = flow.prepared("http")
    expected.failed = set(flow.chance.sample(expected.items, len(expected.items) // 5))
    chunks = flow.chunks(expected.items)
    closes_at = flow.chance.randrange(len(chunks) + 1)
    acked: set[str] = set()
    for at, chunk in enumerate(chunks):
        if at == closes_at:
            flow.close(expected.batch)
        flow.site.api.post("/v1/acks", {"acks": [_ack(item, expected.failed) for item in chunk]}, flow.key())
        acked.update(chunk)
    if closes_at == len(chunks):
        left = outstanding(flow.site, expected.batch)
        if left != set(expected.items) - acked:
            expected.wrong.append(f"outstanding {sorted(left)} after the acks of {len(acked)} items")
        flow.close(expected.batch)
    return expected


def outstanding(site: Site, batch: str, what: str = "outstanding") -> set[str]:
    """Return the ids of the items in a list of ranges, all its pages."""
    found: set[str] = set()
    cursor = ""
    while True:
        page = site.api.get(f"/v1/batches/{batch}/{what}{cursor}")
        for each in page["ranges"]:
            found |= {f"{batch}:{each['groupId']}:{at}" for at in range(each["from"], each["to"] + 1)}
        if not page.get("cursor"):
            return found
        cursor = f"?cursor={page['cursor']}"


def _ack(item: str, failed: set[str]) -> dict[str, Any]:
    if item not in failed:
        return {"itemId": item}
    return {"itemId": item, "outcome": "failure", "reason": "broken"}


def over_sqs(flow: Flow) -> Expected:
    """Acks as messages of the acks queue, some of them twice."""
    expected = flow.prepared("sqs")
    expected.failed = set(flow.chance.sample(expected.items, len(expected.items) // 5))
    closes_first = flow.chance.random() < 0.5
    if closes_first:
        flow.close(expected.batch)
    url = flow.site.run.outputs["AcksQueueUrl"]
    for chunk in flow.chunks(expected.items):
        entries = [
            {"Id": str(n), "MessageBody": json.dumps(_ack(item, expected.failed))}
            for n, item in enumerate(chunk)
        ]
        flow.site.sqs.send_message_batch(QueueUrl=url, Entries=entries)
    if not closes_first:
        flow.close(expected.batch)
    return expected


def of_a_child(flow: Flow) -> Expected:
    """A batch that stands for one item of another; both end."""
    parent = flow.prepared("parent", most=3)
    flow.close(parent.batch)
    stands_for = flow.chance.choice(parent.items)
    flow.name = "child"
    batch = flow.opened(parentItemId=stands_for)
    child = Expected(
        "child", flow.seed, batch, flow.added(batch, flow.chance.randint(1, 6)), parents=[parent]
    )
    others = [item for item in parent.items if item != stands_for]
    if others:
        flow.site.api.post("/v1/acks", {"items": others}, flow.key())
    for chunk in flow.chunks(child.items):
        flow.site.api.post("/v1/acks", {"items": chunk}, flow.key())
    flow.close(batch)
    return child


def as_tasks(flow: Flow) -> Expected:
    """Items handed over as tasks of a batch API: the end of a task acks its item."""
    expected = flow.prepared("tasks", most=5)
    expected.tasks = [f"task-{flow.site.proxy.seed}-{flow.seed}-{n}" for n in range(len(expected.items))]
    target = f"target-{flow.chance.randrange(3)}"
    tasks = [
        {"taskId": task, "target": target, "payload": item, "itemId": item}
        for task, item in zip(expected.tasks, expected.items, strict=True)
    ]
    if flow.chance.random() < 0.5:
        _register_all(flow, tasks)
    else:
        for task in tasks:
            flow.site.api.post("/v1/tasks", task, flow.key())
    flow.close(expected.batch)
    return expected


def _register_all(flow: Flow, tasks: list[dict[str, Any]]) -> None:
    """Register tasks in one request, and those again that were not stored."""
    left = tasks
    for _ in range(20):
        results = flow.site.api.post("/v1/tasks", {"tasks": left}, flow.key())["results"]
        left = [task for task, result in zip(left, results, strict=True) if "problem" in result]
        if not left:
            return
    raise AssertionError(f"{len(left)} tasks were not registered in 20 requests: {results}")


def as_jobs(flow: Flow) -> Expected:
    """Items handed over as jobs of a work queue, whose consumer is a function."""
    expected = flow.prepared("jobs", most=3)
    expected.jobs = [f"job-{flow.site.proxy.seed}-{flow.seed}-{n}" for n in range(len(expected.items))]
    jobs = [{"key": job, "itemId": item} for job, item in zip(expected.jobs, expected.items, strict=True)]
    flow.site.api.post(f"/v1/queues/{QUEUE}/jobs", {"jobs": jobs}, flow.key())
    flow.close(expected.batch)
    return expected


def directly(flow: Flow) -> Expected:
    """The library on the tables: a consumer beside the functions, which repeats what is not stored."""
    expected = flow.prepared("direct")
    fanin = flow.site.direct()
    for chunk in flow.chunks(expected.items):
        _insisted(lambda chunk=chunk: fanin.ack(chunk, key=f"direct-{flow.seed}-{chunk[0]}"))
    flow.close(expected.batch)
    return expected


def by_a_worker(flow: Flow) -> Expected:
    """Jobs of a queue of its own, taken and acked by a worker of this process with an outcome each."""
    expected = flow.prepared("worker", most=3)
    name = f"worker-{flow.site.proxy.seed}-{flow.seed}"
    expected.jobs = [f"{name}-{n}" for n in range(len(expected.items))]
    jobs = [{"key": job, "itemId": item} for job, item in zip(expected.jobs, expected.items, strict=True)]
    flow.site.api.post(f"/v1/queues/{name}/jobs", {"jobs": jobs}, flow.key())
    if not _worked(flow.site, name, len(jobs)):
        expected.wrong.append(f"jobs are left after {ROUNDS} rounds")
    flow.close(expected.batch)
    return expected


def _worked(site: Site, name: str, count: int) -> bool:
    """Take jobs until there are *count* outcomes; a worker whose session is lost starts anew."""
    done: set[str] = set()
    fanin = site.direct()
    for _ in range(ROUNDS):
        try:
            with fanin.queue(name) as queue:
                while len(done) < count:
                    with queue.take(3, wait=2) as jobs:
                        for job in list(jobs):
                            jobs.ack(job, writes=[site.outcome(job.name)])
                    done |= site.with_outcome(f"{name}-{n}" for n in range(count))
        except (StoreUnavailable, SessionLost, LostClaim):
            continue
        return True
    return False


def _insisted(request: Callable[[], Any]) -> Any:
    for _ in range(20):
        try:
            return request()
        except StoreUnavailable:
            continue
    return request()


FLOWS = (over_http, over_http, over_sqs, of_a_child, as_tasks, as_jobs, directly, by_a_worker)
