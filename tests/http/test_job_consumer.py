"""A Lambda that a work queue's own doorbell feeds, as examples/catalog deploys it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from examples.catalog.functions.queueing import QUEUE
from fanin import Fanin
from fanin.local import LocalRun
from lab.local.races import Api
from tests.http.test_jobs import listed, path
from tests.polling import eventually


@pytest.fixture(scope="module")
def outcomes(run: LocalRun) -> Callable[[], dict[str, str]]:
    """What the consumer wrote: the job by its key."""
    dynamodb, table = run.client("dynamodb"), run.outputs["DemoOutcomesTable"]

    def scan() -> dict[str, str]:
        rows = dynamodb.scan(TableName=table, ConsistentRead=True)["Items"]
        return {row["pk"]["S"]: row["job"]["S"] for row in rows}

    return scan


def unused(prefix: str) -> str:
    return f"{prefix}-{uuid4().hex[:8]}"


def states_of(api: Api) -> dict[str, list[str]]:
    """The listings that have a job, by its key."""
    found: dict[str, list[str]] = {}
    for state in ("queued", "inProgress", "delayed", "dead"):
        for job in listed(api, QUEUE, state, limit=100):
            found.setdefault(job["key"], []).append(state)
    return found


def states(api: Api, key: str) -> list[str]:
    return states_of(api).get(key, [])


@pytest.mark.side_by_side
def test_the_doorbell_is_the_functions_event_source(run: LocalRun) -> None:
    lambda_ = run.client("lambda")
    names = [each["FunctionName"] for each in lambda_.list_functions(MaxItems=1000)["Functions"]]
    (consumer,) = [name for name in names if "-Jobs" in name]
    (mapping,) = lambda_.list_event_source_mappings(FunctionName=consumer)["EventSourceMappings"]
    doorbell = Fanin(run.url).queue(QUEUE).ensure()

    assert mapping["EventSourceArn"] == doorbell.doorbell_arn
    assert doorbell.doorbell_url.endswith("_bell_stack-demo")
    assert mapping["State"] == "Enabled"


@pytest.mark.side_by_side
def test_each_job_that_was_added_is_acked_once_with_its_outcome(api: Api, outcomes) -> None:
    keys = [unused("job") for _ in range(25)]
    answer = api.post(path(QUEUE), {"jobs": [{"key": key} for key in (*keys, keys[0])]})
    assert eventually(lambda: set(keys) <= outcomes().keys())

    assert answer["added"] == keys
    assert [each["key"] for each in answer["rejected"]] == keys[:1]
    assert eventually(lambda: not states_of(api).keys() & set(keys))


@pytest.mark.side_by_side
def test_a_delayed_job_is_worked_on_when_its_ring_comes(api: Api, outcomes) -> None:
    key = unused("delayed")
    api.post(path(QUEUE), {"jobs": [{"key": key, "delaySeconds": 3}]})
    early = states(api, key), key in outcomes()
    assert eventually(lambda: key in outcomes())

    assert early == (["delayed"], False)


def test_a_write_that_is_refused_takes_the_ack_with_it(run: LocalRun, api: Api, outcomes, alone) -> None:
    """Alone, because all jobs of a scope share its outcome."""
    key, table = unused("taken"), run.outputs["DemoOutcomesTable"]
    row = {"pk": {"S": key}, "job": {"S": "another"}}
    run.client("dynamodb").put_item(TableName=table, Item=row)
    api.post(path(QUEUE), {"jobs": [{"key": key}]})
    assert eventually(lambda: states(api, key) == ["dead"])

    assert outcomes()[key] == "another"
