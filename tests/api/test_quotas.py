"""Requests over a quota of the tenant: what they answer, and that they do nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fanin.errors import QuotaExceeded
from fanin.queue.memory import MemoryStore as QueueStore
from fanin.quotas.memory import MemoryQuotas
from fanin.testing.queues import FakeDoorbells
from functions.wiring import deployed, metered, queueing, quotas, tracking
from tests.api.gateway import SERVED, Answer, Gateway

IAM = {"iam": {"accountId": "222233334444", "userArn": "arn:aws:iam::222233334444:role/other"}}
TASKS = "/v1/tasks"
UUID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def limited(gateway: Gateway, environment: pytest.MonkeyPatch) -> Callable[..., Gateway]:
    """Set the quotas of the deployment, over a store in memory."""
    store = MemoryQuotas()

    def limit(**limits: int) -> Gateway:
        environment.setenv("FANIN_SETTINGS", json.dumps({"quotas": limits}))
        deployed.settings_file.cache_clear()
        quotas._rates.cache_clear()
        environment.setattr(quotas, "_store", lambda: store)
        tracker = tracking.tracker()
        permits = quotas.permits_in(tracker.store)
        with_permits = replace(tracker, admit=permits.admit) if permits else tracker
        environment.setattr(tracking, "tracker", lambda: with_permits)
        return gateway

    return limit


def refused(answer: Answer) -> tuple[int, str, object]:
    return answer.status, answer.body["type"].rpartition(":")[2], answer.body.get("quota")


def test_opens_over_the_quota_are_refused_until_a_batch_ends(limited, monkeypatch):
    monkeypatch.setattr("fanin.quotas.permits.REFUSES_FOR", 0)
    gateway = limited(openBatches=2)
    first, second, third = (gateway.send("POST", "/v1/batches", {}) for _ in range(3))

    assert (first.status, second.status) == (201, 201)
    assert refused(third) == (429, "quota-exceeded", {"name": "openBatches", "limit": 2, "used": 2})
    assert "Retry-After" not in third.headers
    assert len(gateway.send("GET", "/v1/batches").body["batches"]) == 2

    gateway.send("POST", f"/v1/batches/{first.body['batchId']}/cancel", {})
    assert gateway.send("POST", "/v1/batches", {}).status == 201


def test_an_open_that_is_repeated_with_its_key_is_answered_though_the_quota_is_used(limited):
    gateway = limited(openBatches=1)
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    first, again = (gateway.send("POST", "/v1/batches", {}, headers) for _ in range(2))

    assert (first.status, again.status) == (201, 201)
    assert first.body["batchId"] == again.body["batchId"]


def test_adds_over_the_quota_are_refused_and_reserve_nothing(limited):
    gateway = limited(adds=1)
    batch = gateway.send("POST", "/v1/batches", {}).body["batchId"]
    answers = [gateway.send("POST", f"/v1/batches/{batch}/items", {"count": 5}) for _ in range(8)]
    admitted = [answer for answer in answers if answer.status == 201]

    assert len(admitted) in (2, 3)  # the bucket of two is filled up meanwhile
    assert refused(answers[-1])[:2] == (429, "quota-exceeded")
    assert answers[-1].body["quota"]["limit"] == 1
    assert answers[-1].headers["Retry-After"] in ("1", "2")
    assert gateway.send("GET", f"/v1/batches/{batch}").body["total"] == 5 * len(admitted)


def test_tasks_over_the_quota_are_refused_and_not_registered(limited, grouper):
    gateway = limited(tasks=1)
    many = [{"target": "t", "payload": 1, "taskId": f"t{number}"} for number in range(100)]
    first = gateway.send("POST", TASKS, {"tasks": many})
    second = gateway.send("POST", TASKS, {"target": "t", "payload": 1, "taskId": "late"})

    assert first.status == 200
    assert refused(second)[:2] == (429, "quota-exceeded")
    assert (second.body["quota"]["name"], second.body["quota"]["used"]) in (("tasks", 49), ("tasks", 50))
    assert 97 <= int(second.headers["Retry-After"]) <= 99
    assert gateway.send("GET", f"{TASKS}/late").status == 404


def test_reads_are_refused_by_what_the_ones_before_have_read(limited, environment):
    limited(reads=10)
    one, other = Gateway(), Gateway(authorizer=IAM)
    units = iter([0.0, 1000.5])  # before the request, and after it
    take = metered.meter.take
    environment.setattr(
        metered.meter, "take", lambda kind: next(units, 0.0) if kind == "read_units" else take(kind)
    )
    first, second = (one.send("GET", "/v1/batches", query={"label": "shop:eu"}) for _ in range(2))

    assert first.status == 200
    assert refused(second)[:2] == (429, "quota-exceeded")
    assert (second.body["quota"]["name"], second.body["quota"]["limit"]) == ("reads", 10)
    assert 97 <= int(second.headers["Retry-After"]) <= 100
    assert other.send("GET", "/v1/batches").status == 200
    assert one.send("POST", "/v1/batches", {}).status == 201


UNCHARGED = {"GET /v1/health", "GET /v1/progress"}


def test_every_route_that_reads_is_charged(gateway, environment):
    def refuse(_, name):
        raise QuotaExceeded("too many reads", quota=name, limit=1, used=2, retry_after=1)

    environment.setattr("functions.api.reading.charge", refuse)
    reads = [route.removeprefix("GET ") for route in SERVED.keys() - UNCHARGED if "GET " in route]
    paths = [route.format(batchId=UUID, bundleId=UUID, taskId="t", queue="q") for route in reads]
    needed = {path: {"target": "t"} for path in (TASKS, "/v1/bundles")}
    answers = {path: gateway.send("GET", path, query=needed.get(path)).status for path in paths}

    assert len(paths) > 10
    assert answers == dict.fromkeys(paths, 429)


def test_a_queue_over_the_quota_is_not_created_and_the_others_are_updated(limited, environment):
    store = QueueStore()
    environment.setenv("AWS_DEFAULT_REGION", "us-east-1")

    def of_tenant(tenant, _, most):
        return [key for key in store.configs if key.tenant == tenant][:most]

    environment.setattr(queueing, "store", lambda: store)
    environment.setattr(queueing, "registry", lambda: SimpleNamespace(of_tenant=of_tenant))
    environment.setattr(queueing, "doorbells", FakeDoorbells)
    queueing.creator.cache_clear()
    gateway = limited(queues=2)
    answers = [gateway.send("PUT", f"/v1/queues/{name}", {}) for name in ("a", "b", "c", "a")]
    added = gateway.send("POST", "/v1/queues/d/jobs", {"jobs": [{"key": "k"}]})

    assert [answer.status for answer in answers] == [201, 201, 429, 200]
    assert refused(added) == refused(answers[2])
    assert refused(added) == (429, "quota-exceeded", {"name": "queues", "limit": 2, "used": 2})
    assert [key.name for key in store.configs] == ["a", "b"]
