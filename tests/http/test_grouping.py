"""The group-batcher as it is deployed: HTTP, SQS and Lambda on the local run, and a batch API of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from lab.local.batch_api import BatchApi, ServiceErrors
from lab.local.grouping import configure, counted, endings, judged, register, sizes
from lab.local.races import Api
from tests.http.dying_leader import DIED
from tests.http.events import Events

TENANT = "000000000000"
SIZE = 10
POLICIES = [
    {"pattern": "patient-*", "lingerSeconds": 12, "maxDelaySeconds": 12, "maxSize": SIZE},
    {
        "pattern": "burst-*",
        "lingerSeconds": 8,
        "maxDelaySeconds": 25,
        "maxSize": SIZE,
        "rate": 10,
        "burst": 5,
    },
    {"pattern": "*", "lingerSeconds": 1, "maxDelaySeconds": 1, "maxSize": SIZE},
]
TASKS_BESIDE = 26
"""The tasks of the other tests of this module, which run beside the burst."""
ERRORS = ServiceErrors("7", throttled=10, failing=10, rejected=3, slow_seconds=0.2)


@pytest.fixture(scope="module")
def batch_api(run: LocalRun) -> Iterator[BatchApi]:
    with BatchApi(ERRORS) as batch_api:
        configure(run, POLICIES, batch_api)
        yield batch_api


def look(api: Api, path: str) -> tuple[int, dict]:
    answer = api.pool.request("GET", api.url + path)
    return answer.status, json.loads(answer.data)


def _with_reasons(api: Api, batch: str) -> tuple[int, dict]:
    """Return the failures of a batch; a reason is stored after the failure itself."""
    for _ in range(50):
        status, failures = look(api, f"/v1/batches/{batch}/failures")
        if failures["samples"]:
            break
        time.sleep(0.1)
    return status, failures


def shown(api: Api, target: str) -> dict:
    """Return a target as it is listed."""
    status, page = look(api, "/v1/targets")
    rows = page["targets"]
    while "cursor" in page:
        status, page = look(api, f"/v1/targets?cursor={page['cursor']}")
        rows += page["targets"]

    assert status == 200
    return next(each for each in rows if each["target"] == target)


@pytest.mark.parametrize(("count", "targets"), [(36, 2), pytest.param(200, 4, marks=pytest.mark.proof)])
@pytest.mark.side_by_side
def test_a_burst_is_done_once_each_in_full_bundles(
    run: LocalRun, api: Api, batch_api: BatchApi, count: int, targets: int
) -> None:
    target_of = {f"burst-{count}-{number}": f"burst-{number % targets}" for number in range(count)}
    before = counted(run, "lead_tasks", "TaskMessages")
    register(api, list(target_of), target_of)
    found = endings(api, list(target_of))
    filled = [size for target in sorted(set(target_of.values())) for size in sizes(api, target)]

    assert judged(found, batch_api) == {}
    assert {task["state"] for task in found.values()} == {"SUCCEEDED", "FAILED"}
    assert sum(filled) / len(filled) >= 0.8 * SIZE
    messages = counted(run, "lead_tasks", "TaskMessages") - before
    assert messages / (len(target_of) + TASKS_BESIDE) < 2


@pytest.mark.side_by_side
def test_a_dead_leaders_tasks_are_done_by_another(run: LocalRun, api: Api, batch_api: BatchApi) -> None:
    """The leader crashes after it claimed four of ten tasks, before it seals, sends or releases."""
    ids = [f"orphan-{number}" for number in range(SIZE)]
    register(api, ids, dict.fromkeys(ids, "patient-orphans"))
    variables = functions.by_handler(run.client("lambda"))["lead_tasks"]["Environment"]["Variables"]
    dying = [sys.executable, "-m", "tests.http.dying_leader", TENANT, ids[0]]
    died = subprocess.run(dying, env={**os.environ, **variables, **run.environment}, check=False)
    led = shown(api, "patient-orphans")
    claimed = [name for name in ids if look(api, f"/v1/tasks/{name}")[1]["state"] == "BUNDLED"]
    found = endings(api, ids)

    assert (led["leaders"], "leaseUntil" in led) == (1, True)
    assert shown(api, "patient-orphans")["leaders"] == 0
    assert (died.returncode, len(claimed)) == (DIED, 4)
    assert judged(found, batch_api) == {}
    assert sorted(size for size in sizes(api, "patient-orphans")) == [4, 6]


@pytest.mark.side_by_side
def test_the_items_of_tasks_are_acked_as_the_tasks_end(api: Api, bus: Events, batch_api: BatchApi) -> None:
    batch, items = api.opened(8)
    rejected = next(f"item-{n}" for n in range(1000) if ERRORS.is_hit(3, "rejected", f"item-{n}"))
    names = [rejected, *(f"fine-{n}" for n in range(1000) if not ERRORS.is_hit(3, "rejected", f"fine-{n}"))]
    api.close(batch)
    for name, item in zip(names, items, strict=False):
        body = {"taskId": name, "target": "items", "payload": None, "itemId": item}
        api.post("/v1/tasks", body)
    found = endings(api, names[:8])
    status, failures = _with_reasons(api, batch)

    assert [found[name]["state"] for name in names[:8]] == ["FAILED", *["SUCCEEDED"] * 7]
    assert [(one["itemId"], one["reason"]) for one in failures["samples"]] == [(items[0], "rejected")]
    # Each arrives at least once.
    event, failed, fine = (bus.of(name)[0] for name in (batch, rejected, names[1]))
    assert (fine["kind"], fine["state"], fine["itemId"]) == ("TaskSucceeded", "SUCCEEDED", items[1])
    assert (failed["kind"], failed["state"], failed["itemId"]) == ("TaskFailed", "FAILED", items[0])
    assert (status, event["result"], event["failed"]) == (200, "completed_with_failures", 1)


@pytest.mark.side_by_side
def test_a_bundle_of_which_every_task_fails_is_an_event(api: Api, bus: Events, batch_api: BatchApi) -> None:
    rejected = next(f"lone-{n}" for n in range(1000) if ERRORS.is_hit(3, "rejected", f"lone-{n}"))
    api.post("/v1/tasks", {"taskId": rejected, "target": "lone", "payload": None})
    bundle = endings(api, [rejected])[rejected]["bundleId"]
    event, *_ = bus.of(bundle)

    assert (event["kind"], event["eventId"]) == ("BundleFailed", f"{bundle}:FAILED")
    assert (event["target"], event["tasks"], event["failed"], event["reason"]) == ("lone", 1, 1, "rejected")
