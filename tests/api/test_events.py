"""Ending events are made from the stored batch, whatever the stream record contains."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanin.api.bus_events.ending_events import confirm, endings
from fanin.aws.messaging.bus import Bus
from fanin.errors import NewerSchema, StoreUnavailable
from fanin.instants import iso
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.tracker import Ack, Batch, BatchKey, OpenBatch, State, Tracker
from fanin.tracker.memory import MemoryStore
from functions import confirm_event, publish_endings
from functions.wiring import tracking
from tests.api.conftest import TENANT
from tests.grouper.test_eventbridge import Client
from tests.tracker.calls import Clock


@pytest.fixture(autouse=True)
def bus(environment: pytest.MonkeyPatch) -> Client:
    """What the handlers put events on."""
    client = Client()
    environment.setenv("FANIN_BUS_NAME", "bus")
    environment.setattr(publish_endings.clients, "events", lambda: client)
    return client


def opened(tracker: Tracker, count: int = 10, **options: Any) -> tuple[str, str]:
    batch_id = tracker.open(TENANT, OpenBatch(**options)).batch_id
    return batch_id, tracker.add(TENANT, batch_id, count).groups[0].id


def record(batch_id: str, state: str = "COMPLETE", sk: str = "batch") -> dict[str, Any]:
    keys = {"pk": {"S": f"{TENANT}#{batch_id}"}, "sk": {"S": sk}}
    return {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "NewImage": {**keys, "state": {"S": state}}}}


def detail_of(batch_id: str) -> dict[str, Any]:
    (detail,) = endings([record(batch_id)], tracking.tracker())
    return dict(detail)


def test_the_event_of_a_complete_batch_has_all_its_facts(tracker: Tracker, clock: Clock) -> None:
    batch_id = tracker.open(TENANT, OpenBatch(user_key='"}],"x')).batch_id
    clock.at += timedelta(seconds=1)
    finished = tracker.close(TENANT, batch_id, "a test").batch

    assert detail_of(batch_id) == {
        "detailType": "BatchCompleted",
        "eventId": f"{batch_id}:COMPLETE",
        "tenant": TENANT,
        "batchId": batch_id,
        "userKey": '"}],"x',
        "labels": {},
        "result": "succeeded",
        "reason": None,
        "total": 0,
        "acked": 0,
        "upperBound": 0,
        "exact": True,
        "failed": 0,
        "outstanding": 0,
        "ranges": [],
        "moreRanges": False,
        "openedAt": iso(finished.created_at),
        "closedAt": iso(clock.at),
        "completedAt": iso(clock.at),
        "endedAt": iso(clock.at),
    }


def test_the_event_of_a_cancelled_batch_has_its_reason_and_its_outstanding_ranges(tracker: Tracker) -> None:
    batch_id, group = opened(tracker)
    tracker.ack(TENANT, [Ack(batch_id, group, 3, 4, "c")])
    tracker.cancel(TENANT, batch_id, "not wanted")
    detail = detail_of(batch_id)

    assert (detail["detailType"], detail["eventId"]) == ("BatchCancelled", f"{batch_id}:CANCELLED")
    assert (detail["result"], detail["reason"], detail["completedAt"]) == ("cancelled", "not wanted", None)
    assert detail["ranges"] == [
        {"groupId": group, "from": 0, "to": 2},
        {"groupId": group, "from": 5, "to": 9},
    ]
    assert (detail["acked"], detail["outstanding"], detail["exact"], detail["moreRanges"]) == (
        2,
        8,
        True,
        False,
    )


def test_the_event_has_the_first_hundred_outstanding_ranges(tracker: Tracker) -> None:
    batch_id, group = opened(tracker, 500)
    tracker.ack(TENANT, [Ack(batch_id, group, index, index, "c") for index in range(0, 500, 2)])
    tracker.cancel(TENANT, batch_id)

    detail = detail_of(batch_id)
    assert [one["from"] for one in detail["ranges"]] == list(range(1, 200, 2))
    assert (detail["acked"], detail["outstanding"], detail["moreRanges"]) == (250, 250, True)


@pytest.mark.parametrize("state", ["OPEN", "CLOSED"])
def test_a_record_of_a_live_batch_has_no_event_whatever_it_claims(tracker: Tracker, state: str) -> None:
    batch_id, _ = opened(tracker)
    if state == "CLOSED":
        tracker.close(TENANT, batch_id, "a test")

    assert endings([record(batch_id)], tracker) == []


def test_a_record_of_another_tenant_finds_no_batch(tracker: Tracker) -> None:
    batch_id, _ = opened(tracker)
    tracker.cancel(TENANT, batch_id)
    foreign = record(batch_id)
    foreign["dynamodb"]["Keys"]["pk"] = {"S": f"another#{batch_id}"}

    assert endings([foreign], tracker) == []


def published(*records: dict[str, Any]) -> None:
    publish_endings.handler({"Records": list(records)}, None)


def test_each_event_is_put_on_the_bus_with_its_type(tracker: Tracker, bus: Client) -> None:
    (cancelled, _), (live, _) = opened(tracker), opened(tracker)
    empty = tracker.open(TENANT, OpenBatch()).batch_id
    tracker.cancel(TENANT, cancelled)
    tracker.close(TENANT, empty, "a test")
    published(record(cancelled), record(live), record(empty))

    (entries,) = bus.requests
    assert [(each["EventBusName"], each["Source"], each["DetailType"]) for each in entries] == [
        ("bus", "fanin", "BatchCancelled"),
        ("bus", "fanin", "BatchCompleted"),
    ]
    assert [json.loads(each["Detail"]) for each in entries] == [detail_of(cancelled), detail_of(empty)]


def test_an_event_that_may_be_missing_fails_the_delivery_and_is_not_counted(
    tracker: Tracker, bus: Client, capsys: pytest.CaptureFixture[str], environment: pytest.MonkeyPatch
) -> None:
    environment.setattr(publish_endings, "Bus", lambda *given: Bus(*given, pause=lambda _: None))
    bus.refusals = 100
    batch_id, _ = opened(tracker)
    tracker.cancel(TENANT, batch_id)

    with pytest.raises(StoreUnavailable):
        published(record(batch_id, "CANCELLED"))
    assert "BatchesCancelled" not in capsys.readouterr().out


class Failing(MemoryObjects):
    """A bucket that answers every read with *error*."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def get(self, name: str) -> bytes | None:
        raise self.error


GONE = ClientError({"Error": {"Code": "NoSuchBucket", "Message": "it was removed"}}, "GetObject")


@pytest.mark.parametrize(
    ("kept", "waits"),
    [
        (None, timedelta(0)),
        (Results(Failing(GONE)), timedelta(0)),
        (Results(Failing(StoreUnavailable("S3 is down"))), timedelta(minutes=5)),
    ],
)
def test_the_events_of_a_shard_do_not_wait_for_the_bucket_of_one_batch(
    tracker: Tracker, clock: Clock, bus: Client, kept: Results | None, waits: timedelta
) -> None:
    tracker.results = Results(MemoryObjects())
    (with_results, _), (other, _) = opened(tracker, results=True), opened(tracker)
    tracker.results = kept
    for batch_id in (with_results, other):
        tracker.cancel(TENANT, batch_id)
    records = record(with_results, "CANCELLED"), record(other, "CANCELLED")
    if waits:
        with pytest.raises(StoreUnavailable):
            published(*records)
    clock.at += waits
    published(*records)

    (entries,) = bus.requests
    details = [json.loads(each["Detail"]) for each in entries]
    assert [detail["batchId"] for detail in details] == [with_results, other]
    assert not any("results" in detail for detail in details)


def test_ends_are_counted_by_kind_and_once(tracker: Tracker, capsys: pytest.CaptureFixture[str]) -> None:
    batch_id, _ = opened(tracker)
    tracker.cancel(TENANT, batch_id)
    records = [record(batch_id, "CANCELLED"), record(batch_id, sk="notice#1"), record(batch_id, "TIMED_OUT")]
    published(*records)
    line = json.loads(capsys.readouterr().out)

    assert (line["BatchesCancelled"], line["BatchesTimedOut"]) == ([1], [1])
    assert "BatchesCompleted" not in line


def test_a_deleted_batch_has_no_event(tracker: Tracker) -> None:
    """A copy of its stream record that arrives late would say of the batch what was removed."""
    batch_id, _ = opened(tracker, user_key="käy")
    tracker.cancel(TENANT, batch_id)
    assert len(endings([record(batch_id)], tracker)) == 1
    tracker.confirm(tracker.get(TENANT, batch_id))
    tracker.delete(TENANT, batch_id)

    assert endings([record(batch_id), record(batch_id, sk="notice#1")], tracker) == []


@pytest.fixture
def ended(tracker: Tracker) -> Batch:
    batch_id, _ = opened(tracker)
    return tracker.cancel(TENANT, batch_id)


def test_an_event_that_arrived_is_confirmed(ended: Batch, tracker: Tracker, memory: MemoryStore) -> None:
    detail = detail_of(ended.batch_id)
    for _ in range(2):
        confirm_event.handler({"detail": detail}, None)

    assert memory.confirmed == {ended.key}
    assert endings([record(ended.batch_id)], tracker) == []
    assert endings([record(ended.batch_id, sk="notice#1")], tracker) == [detail]


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant": "another"},
        {"tenant": None},
        {"tenant": 7},
        {"batchId": "00000000-0000-4000-8000-000000000000"},
        {"batchId": "x"},
        {"batchId": None},
        {"eventId": "x"},
        {"eventId": None},
    ],
    ids=repr,
)
def test_a_forged_event_confirms_nothing(
    ended: Batch, tracker: Tracker, memory: MemoryStore, changes: dict[str, Any]
) -> None:
    assert not confirm({**detail_of(ended.batch_id), **changes}, tracker)
    assert memory.confirmed == set()


def test_an_event_of_a_living_batch_confirms_nothing(tracker: Tracker, memory: MemoryStore) -> None:
    batch_id, _ = opened(tracker)
    detail = {"tenant": TENANT, "batchId": batch_id, "eventId": f"{batch_id}:{State.OPEN}"}

    assert not confirm(detail, tracker)
    assert memory.confirmed == set()


def test_a_batch_of_a_newer_release_keeps_no_other_from_its_event(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    batches = [opened(tracker)[0] for _ in range(3)]
    for batch_id in batches:
        tracker.cancel(TENANT, batch_id)
    read = MemoryStore.get

    def get(store: MemoryStore, key: BatchKey) -> Batch | None:
        if key.batch_id == batches[1]:
            raise NewerSchema("upgrade fanin in this process")
        return read(store, key)

    monkeypatch.setattr(MemoryStore, "get", get)
    details = endings([record(batch_id, "CANCELLED") for batch_id in batches], tracker)

    assert [detail["batchId"] for detail in details] == [batches[0], batches[2]]
    assert f"the ending event of batch {batches[1]} is not sent" in caplog.text


@pytest.mark.parametrize("pk", ["", "nothing", "'; DROP TABLE x; --", f"{TENANT}#", "#"])
def test_a_row_with_a_key_of_no_batch_keeps_no_other_from_its_event(tracker: Tracker, pk: str) -> None:
    batch_id, _ = opened(tracker)
    tracker.cancel(TENANT, batch_id)
    forged = record(batch_id, "CANCELLED")
    forged["dynamodb"]["Keys"]["pk"] = {"S": pk}
    details = endings([forged, record(batch_id, "CANCELLED")], tracker)

    assert [detail["batchId"] for detail in details] == [batch_id]
