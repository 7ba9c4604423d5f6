"""Failed tasks on the bus: in tens, again where they were not taken, and the same each time."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import Bundle, BundleState, Outcome, Task, TaskState, Verdict
from fanin.grouper.eventbridge import EventBus, detail
from tests.grouper.conftest import START

FAILED = Task(
    tenant="t",
    task_id="a",
    target="x",
    shard="0",
    state=TaskState.FAILED,
    payload="{}",
    priority=0,
    item_id="item",
    attempts=2,
    created_at=START,
    due_at=START,
    expires_at=START,
    bundle_id="b",
    detail="no such order",
)


@dataclass
class Client:
    """Takes what it is given, but for the first *refusals* requests the last entry of each."""

    refusals: int = 0
    requests: list[list[dict]] = field(default_factory=list)

    def put_events(self, Entries):  # noqa: N803  # as boto3 has it
        self.requests.append(Entries)
        refused = len(self.requests) <= self.refusals
        results = [{"EventId": "1"} for _ in Entries]
        return {"Entries": [*results[:-1], {"ErrorCode": "ThrottlingException"}] if refused else results}


def bus(client):
    return EventBus(client, "bus", pause=lambda _: None)


def test_an_event_says_what_failed_and_why():
    client = Client()
    bus(client).publish([FAILED])
    ((entry,),) = client.requests

    assert (entry["EventBusName"], entry["Source"], entry["DetailType"]) == ("bus", "fanin", "TaskFailed")
    assert json.loads(entry["Detail"]) == {
        "eventId": "a:b:FAILED",
        "tenant": "t",
        "taskId": "a",
        "target": "x",
        "state": "FAILED",
        "reason": "no such order",
        "attempts": 2,
        "bundleId": "b",
        "itemId": "item",
    }


def test_a_task_id_that_is_used_again_has_another_event_id():
    again = replace(FAILED, bundle_id="c")

    assert detail(again)["eventId"] != detail(FAILED)["eventId"]
    assert detail(replace(FAILED, detail="x"))["eventId"] == detail(FAILED)["eventId"]


def test_the_event_of_a_bundle_counts_its_failed_and_its_divided_tasks():
    client = Client()
    outcomes = [
        Outcome(verdict, f"it is {verdict}") for verdict in (Verdict.FAIL, Verdict.EXHAUSTED, Verdict.APART)
    ]
    failed = Bundle(
        lane=FAILED.lane,
        fence=7,
        state=BundleState.FAILED,
        members=("a", "b", "c"),
        version=4,
        created_at=START,
        expires_at=START,
        attempt=2,
        outcomes=tuple(outcomes),
    )
    bus(client).publish_bundle(failed)
    ((entry,),) = client.requests

    assert entry["DetailType"] == "BundleFailed"
    assert json.loads(entry["Detail"]) == {
        "eventId": f"{failed.bundle_id}:FAILED",
        "tenant": "t",
        "bundleId": failed.bundle_id,
        "target": "x",
        "reason": "it is fail",
        "attempts": 2,
        "tasks": 3,
        "failed": 2,
        "divided": 1,
    }


def test_events_go_in_tens_and_what_was_not_taken_goes_again():
    client = Client(refusals=1)
    bus(client).publish([replace(FAILED, task_id=str(number)) for number in range(12)])

    assert [len(request) for request in client.requests] == [10, 1, 2]
    assert json.loads(client.requests[1][0]["Detail"])["taskId"] == "9"


def test_a_bus_that_never_takes_an_event_is_an_unknown_outcome():
    with pytest.raises(StoreUnavailable):
        bus(Client(refusals=99)).publish([FAILED])
