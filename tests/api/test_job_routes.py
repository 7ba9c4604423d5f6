"""The work queue's routes: forms, names, keys and listings."""

from __future__ import annotations

import json

import pytest

from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore
from functions.wiring import queueing
from tests.api.gateway import JSON, Gateway

PATH = "/v1/queues/thumbs/jobs"


@pytest.fixture
def queues(gateway, environment):
    """The queues by tenant and name, each made by its first add."""
    opened: dict[tuple[str, str], Queue] = {}

    def make(tenant: str, name: str) -> Queue:
        key = QueueKey(tenant, name)
        options = Options(parts=2, max_failures=1)
        fresh = Queue(
            QueueContext(MemoryStore(), MemoryDoorbell(), key, options), background=lambda _: lambda: None
        )
        return opened.setdefault((tenant, name), fresh)

    environment.setattr(queueing, "created", make)
    environment.setattr(queueing, "known", lambda tenant, name: opened.get((tenant, name)))
    return opened


def post(gateway: Gateway, *jobs, key: str | None = None, **more):
    headers = {**JSON, "Idempotency-Key": key} if key else None
    return gateway.send("POST", PATH, {"jobs": list(jobs), **more}, headers)


def listed(gateway: Gateway, state: str | None = None, path: str = PATH):
    answer = gateway.send("GET", path, query={"state": state} if state else None)
    assert answer.status == 200, answer.text
    return answer.body["jobs"]


def test_each_listing_has_its_jobs_with_their_metrics(gateway, queues):
    post(gateway, {"key": "dies", "priority": 2}, {"key": "runs", "priority": 1})
    (queue,) = queues.values()
    queue.add(NewJob("sleeps", delay=60))
    scope = queue.take(2, wait=0)
    dies, runs = scope.__enter__()
    scope.release(dies, failed=True, error="boom")
    post(gateway, {"key": "runs"})

    assert listed(gateway) == []
    (busy,), (late,), (dead,) = (listed(gateway, state) for state in ("inProgress", "delayed", "dead"))
    assert (busy["key"], busy["deliveries"], busy["collisions"]) == (runs.name, 1, 1)
    assert busy["inProgressSeconds"] >= 0 <= busy["queuedSeconds"]
    assert (late["key"], late["state"], "dueAt" in late) == ("sleeps", "delayed", True)
    assert (dead["key"], dead["failures"], dead["error"], "diedAt" in dead) == ("dies", 1, "boom", True)


@pytest.mark.parametrize(
    "payload",
    ["text", "7", None, {"n": [1, None], "é": "\0"}, 7, False, "x" * (128 * 1024 - 2)],
    ids=lambda given: str(given)[:20],
)
def test_a_payload_is_the_value_of_json_that_was_added(gateway, queues, payload):
    post(gateway, {"key": "a", "payload": payload})

    assert listed(gateway)[0].get("payload") == payload


def test_an_add_of_the_same_job_id_is_the_same_add(gateway, queues):
    answers = [post(gateway, {"key": "a", "jobId": job_id}).body for job_id in ("one", "one", "two")]

    assert [each["added"] for each in answers] == [["a"], ["a"], []]


def test_a_queue_is_removed_and_takes_no_jobs_from_then_on(gateway, queues):
    post(gateway, {"key": "a"})
    (queue,) = queues.values()
    with queue.take(1, wait=0):
        pass
    answers = [gateway.send("DELETE", "/v1/queues/thumbs") for _ in range(2)]

    assert [(each.status, each.body) for each in answers] == [
        (202, {"queue": "thumbs", "state": "REMOVING"})
    ] * 2
    refused = post(gateway, {"key": "b"})
    assert (refused.status, refused.body["type"]) == (409, "urn:fanin:problem:conflict")
    assert "is being removed" in refused.body["detail"]


BAD_JOBS = [
    {},
    {"key": ""},
    {"key": 7},
    {"key": None},
    {"key": "x" * 2049},
    {"key": "é" * 1025},
    {"key": "a\ud800"},
    {"key": "a", "priority": -1},
    {"key": "a", "priority": 1000},
    {"key": "a", "priority": 1.0},
    {"key": "a", "priority": True},
    {"key": "a", "delaySeconds": -1},
    {"key": "a", "delaySeconds": 366 * 86_400 + 1},
    {"key": "a", "delaySeconds": "1"},
    {"key": "a", "delaySeconds": None},
    {"key": "a", "delaySeconds": True},
    {"key": "a", "payload": "x" * (128 * 1024 - 1)},
    {"key": "a", "jobId": ""},
    {"key": "a", "jobId": "é" * 257},
    {"key": "a", "payload": ["x" * (128 * 1024)]},
    {"key": "a", "itemId": "x"},
    {"key": "a", "itemId": 7},
    {"key": "a", "extra": 1},
    {"key": "a", "item_id": None},
    "a",
    None,
]


@pytest.mark.parametrize("bad", BAD_JOBS, ids=lambda bad: str(bad)[:40])
def test_one_bad_job_refuses_all_of_them(gateway, queues, bad):
    assert post(gateway, {"key": "fine"}, bad).status == 400
    assert queues == {}


@pytest.mark.parametrize("name", ["-a", "a%23b", "a b", "a#b", "é", "a" * 81, "..", "a\n", "a:b", "'"])
def test_a_strange_name_is_no_queue(gateway, queues, name):
    path = f"/v1/queues/{name}/jobs"

    assert gateway.send("POST", path, {"jobs": [{"key": "a"}]}).status in (400, 404)
    assert gateway.send("GET", path).status in (400, 404)
    assert queues == {}


@pytest.mark.parametrize(("levels", "status"), [(90, 200), (256, 400), (900, 400), (100_000, 400)])
def test_a_payload_that_is_nested_deeply_is_taken_or_refused_and_breaks_nothing(
    gateway, queues, levels, status
):
    payload = "[" * levels + "]" * levels
    answer = gateway.send("POST", PATH, '{"jobs":[{"key":"a","payload":' + payload + "}]}")

    assert answer.status == status
    if status == 200:
        assert [json.dumps(job["payload"]) for job in listed(gateway)] == [payload]
    else:
        assert queues == {}
