"""Metrics count what a request creates, and not what its repetition answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from fanin.queue import MemoryDoorbell, Options, Queue, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore
from functions.invocation_metrics.measuring import metrics
from functions.wiring import grouping, queueing
from tests.api.conftest import AT, TENANT
from tests.api.gateway import JSON, Gateway

KEYED = {**JSON, "Idempotency-Key": "k"}
JOBS = "/v1/queues/thumbs/jobs"


@pytest.fixture
def counted(capsys):
    """Return the sums of the metrics that are counted until then."""

    def sums() -> Counter[str]:
        metrics.flush()
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
        values = ((name, sum(line[name])) for line in lines for name in line if isinstance(line[name], list))
        found: Counter[str] = Counter()
        for name, amount in values:
            found[name] += amount
        return found

    sums()
    return sums


def test_repeated_opens_and_adds_are_counted_once(gateway: Gateway, counted):
    for _ in range(3):
        batch = gateway.send("POST", "/v1/batches", {}, KEYED).body["batchId"]
        gateway.send("POST", f"/v1/batches/{batch}/items", {"count": 5}, KEYED)
    other = gateway.send("POST", "/v1/batches", {}).body["batchId"]
    for _ in range(2):
        gateway.send("POST", f"/v1/batches/{other}/items", {"count": 5})

    found = counted()
    assert (found["BatchesOpened"], found["ItemsAdded"]) == (2, 15)


@pytest.fixture
def grouper(grouper, environment):
    """A group-batcher whose clock goes on by a microsecond at each look."""
    looks = count()
    world = replace(grouper.world, now=lambda: AT + timedelta(microseconds=next(looks)))
    environment.setattr(grouping, "grouper", lambda: replace(grouper, world=world))
    return grouper


def test_repeated_tasks_are_counted_once(gateway: Gateway, grouper, counted):
    task = {"target": "x", "payload": 1}
    for _ in range(3):
        assert gateway.send("POST", "/v1/tasks", task, KEYED).status == 202
    for _ in range(2):
        named = {"tasks": [task | {"taskId": "a"}, task | {"taskId": "b"}]}
        assert gateway.send("POST", "/v1/tasks", named).status == 200

    assert counted()["TasksRegistered"] == 3


@pytest.fixture
def queue(gateway: Gateway, environment):
    context = QueueContext(MemoryStore(), MemoryDoorbell(), QueueKey(TENANT, "thumbs"), Options(parts=2))
    queue = Queue(context, background=lambda _: lambda: None)
    environment.setattr(queueing, "created", lambda tenant, name: queue)
    return queue


def test_repeated_jobs_and_reruns_are_counted_once(gateway: Gateway, queue, counted):
    def add():
        given = {"jobs": [{"key": "a"}, {"key": "b"}, {"key": "a"}], "onBusy": "rerun"}
        return gateway.send("POST", JOBS, given, KEYED).body["added"]

    assert [add() for _ in range(3)] == [["a", "b"]] * 3
    assert counted()["JobsAdded"] == 2

    with queue.take(wait=0) as (taken,):
        again = {"jobs": [{"key": taken.name}], "onBusy": "rerun"}
        for _ in range(3):
            assert gateway.send("POST", JOBS, again, {**JSON, "Idempotency-Key": "later"}).body["added"]
    assert counted()["JobsAdded"] == 1
