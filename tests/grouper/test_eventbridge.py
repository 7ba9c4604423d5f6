"""Ended tasks are reported: the ack of their item, and events in tens, again where they were not taken."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from fanin.grouper import Bundle, BundleState, ItemAck, Outcome, OutcomeNotifier, Task, TaskState, Verdict
from fanin.grouper.eventbridge import EventBus, detail
from tests.grouper.conftest import START
from tests.item_ids import item_named


@pytest.fixture
def ended(bench):
    (task,) = bench.register("a", item_id=item_named("i"))
    return replace(task, state=TaskState.FAILED, detail="refused", bundle_id="x")


def reported(*tasks):
    published, acked = [], []
    OutcomeNotifier(published.extend, acked.extend).notify(tasks)
    return published, acked


def test_a_failed_task_is_published_and_its_item_fails(ended):
    ack = ItemAck("t", item_named("i"), failed=True, reason="refused", caller="a:FAILED")

    assert reported(ended) == ([ended], [ack])


def test_a_success_is_the_ack_of_its_item_alone(ended):
    succeeded = replace(ended, state=TaskState.SUCCEEDED, detail="stored")

    assert reported(succeeded) == (
        [],
        [ItemAck("t", item_named("i"), failed=False, reason="", caller="a:SUCCEEDED")],
    )


def test_a_success_is_published_where_it_is_wanted(ended):
    succeeded, published = replace(ended, state=TaskState.SUCCEEDED), []
    OutcomeNotifier(published.extend, [].extend, succeeded=True).notify([ended, succeeded])

    assert published == [ended, succeeded]


def test_a_task_without_an_item_acks_nothing(ended):
    assert reported(replace(ended, item_id=None))[1] == []


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
