"""The work queue as it is deployed: HTTP, worker processes, and whatever befalls them."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from uuid import uuid4

import pytest

from fanin import Fanin, Options
from fanin.local import LocalRun
from fanin.queue import Effects, MemoryDoorbell, QueueContext
from fanin.queue.sessions.worker import start_bounded
from lab.local.jobs import WAIT_SECONDS, Site, failures, waiting
from lab.local.races import Api
from tests.http.events import Events
from tests.http.test_tracking import send

HOUR_US = 3_600_000_000
SWEEPS_MAX = 30


@pytest.fixture(scope="module")
def fanin(library: Fanin) -> Fanin:
    return library


def path(queue: str) -> str:
    return f"/v1/queues/{queue}/jobs"


def listed(api: Api, queue: str, state: str = "queued", **query):
    answer = api.pool.request("GET", api.url + path(queue), fields={"state": state, **query})
    assert answer.status == 200, answer.data
    return json.loads(answer.data)["jobs"]


def test_jobs_are_acked_exactly_once_though_a_worker_is_killed_and_another_frozen(run: LocalRun) -> None:
    outcome = failures(Site(run, "failures"), jobs=100, workers=3)

    assert outcome.odd == {}
    assert outcome.unfinished == {"queued": 0, "inProgress": 0, "delayed": 0, "dead": 0}
    assert outcome.rejected > 0
    assert (outcome.refused_acks > 0, outcome.late_acks) == (True, 0)
    # How soon is for the benchmark to say: here it may wait for a machine that others use.
    assert min(outcome.takeovers) > 0


@pytest.mark.proof
def test_a_waiting_take_reads_nothing_and_is_woken_by_an_add(run: LocalRun) -> None:
    waited = waiting(Site(run, "idle"))

    assert waited.idle_requests == 0
    assert min(waited.wakes) < WAIT_SECONDS / 2, "a take ended with its wait, and not with the ring"


@pytest.mark.side_by_side
def test_a_job_that_dies_is_an_event_on_the_bus(api: Api, fanin: Fanin, bus: Events) -> None:
    api.post(path("dying"), {"jobs": [{"key": "fine"}, {"key": "bad"}]})
    with fanin.queue("dying", options=Options(max_failures=1)) as queue, queue.take(2, wait=20) as taken:
        by_name = {job.key: job for job in taken}
        taken.release(by_name["bad"], failed=True, error="no good")
        taken.ack(by_name["fine"])
    (dead,) = listed(api, "dying", "dead")
    event, *_ = bus.of(dead["jobId"])

    assert (event["kind"], event["queue"], event["error"]) == ("JobDead", "dying", "no good")
    assert (event["deadId"], event["diedAt"]) == (dead["deadId"], dead["diedAt"])
    assert not bus.by_batch[by_name["fine"].job_id]


@pytest.mark.side_by_side
def test_the_same_request_is_the_same_add_under_its_key(api: Api) -> None:
    body, key = {"jobs": [{"key": "a"}, {"key": "b"}]}, uuid4().hex
    answers = [send(api, path("keyed"), body, key=key) for _ in range(2)]

    assert answers == [(200, {"added": ["a", "b"], "rejected": []})] * 2
    assert send(api, path("keyed"), {"jobs": [{"key": "c"}]}, key=key)[0] == 422
    assert send(api, path("other"), body, key=key)[0] == 422


@pytest.mark.side_by_side
def test_the_sweep_frees_what_a_dead_invocation_held_and_emits_the_depth_of_the_queues(
    run: LocalRun, api: Api
) -> None:
    site = Site(run, "swept")
    site.add(["orphan", "waits"])
    long_ago = Effects(now=lambda: Effects().now() - HOUR_US)
    context = QueueContext(site.store, MemoryDoorbell(), site.key, effects=long_ago)
    config = context.config()
    assert context.write_config(replace(config, metrics=True, revision=config.revision + 1))
    start_bounded(context, 30).claims.take(range(context.config().parts), 1)
    before = listed(api, "swept", "inProgress")
    depths = swept(run, "swept")

    assert [job["key"] for job in before] == ["orphan"]
    assert [job["key"] for job in listed(api, "swept")] == ["orphan", "waits"]
    of_queue = [line["JobsQueued"] for line in depths if line.get("queue") == "swept"]
    of_all = [line["JobsQueued"][0] for line in depths if "queue" not in line]
    assert of_queue == [[2.0]] * len(of_queue) != []  # the deployed sweep may report it beside the test's
    assert of_all
    assert min(of_all) >= 2


def swept(run: LocalRun, queue: str):
    """Return the metrics of a sweep whose log tail, of 4 KB, has those of *queue*: the order is random."""
    lambda_ = run.client("lambda")
    pages = lambda_.get_paginator("list_functions").paginate()
    names = {each["Handler"]: each["FunctionName"] for page in pages for each in page["Functions"]}
    for _ in range(SWEEPS_MAX):
        answer = lambda_.invoke(FunctionName=names["functions.sweep_jobs.handler"], LogType="Tail")
        assert "FunctionError" not in answer, answer["Payload"].read()
        lines = base64.b64decode(answer["LogResult"]).decode(errors="replace").splitlines()
        depths = [json.loads(line) for line in lines if line.startswith('{"_aws"')]
        if any(line.get("queue") == queue for line in depths):
            return depths
    raise AssertionError(f"{SWEEPS_MAX} sweeps, and no metrics of queue {queue}")
