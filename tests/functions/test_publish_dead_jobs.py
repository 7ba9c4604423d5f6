"""Each job that dies is an event on the bus, made from the stream of the queues' table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from moto.events.models import EventPattern

from fanin.aws.messaging.bus import Bus
from fanin.errors import StoreUnavailable
from fanin.pacing import each_in_turn
from fanin.queue import Effects, MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration import paging
from fanin.queue.administration.changing import revive_all
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.row_texts import record_of
from functions import publish_dead_jobs
from tests.change_archive.streams import read, turn_on
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.grouper.test_eventbridge import Client
from tests.item_ids import item_named

KEY = QueueKey("acme#1", "thumbs")


@pytest.fixture
def queue() -> Iterator[Queue]:
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        turn_on(client, QUEUE_TABLE)
        effects = Effects(pause=lambda _: None, each=each_in_turn)
        options = Options(parts=2, max_failures=1)
        store = DynamoStore(client, QUEUE_TABLE)
        with Queue(QueueContext(store, MemoryDoorbell(), KEY, options, effects)) as opened:
            yield opened


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setenv("FANIN_BUS_NAME", "bus")
    monkeypatch.setattr(publish_dead_jobs.clients, "events", lambda: client)
    monkeypatch.setattr(publish_dead_jobs, "Bus", lambda *given: Bus(*given, pause=lambda _: None))
    return client


def worked(queue: Queue, *, failed: bool) -> None:
    """Take all jobs, and end them."""
    with queue.take(10, wait=0) as taken:
        for job in list(taken):
            taken.release(job, failed=True, error="no good") if failed else taken.ack(job)


def died() -> list[dict[str, Any]]:
    """The records that the filter of the template passes."""
    # Here, for importing it starts a Node, which the collection of other tests need not wait for.
    from fanin_cdk.event_delivery.job_events import DIED

    passes = EventPattern.load(json.dumps(DIED)).matches_event
    clients = moto_clients.client("dynamodb"), moto_clients.client("dynamodbstreams")
    return [record for record in read(*clients, QUEUE_TABLE) if passes(record)]


def published(bus: Client) -> list[dict[str, Any]]:
    entries = [entry for request in bus.requests for entry in request]
    assert {entry["DetailType"] for entry in entries} <= {"JobDead"}
    return [json.loads(entry["Detail"]) for entry in entries]


def handled(records: list[dict[str, Any]]) -> list[str]:
    answer = publish_dead_jobs.handler({"Records": records}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_a_job_that_dies_is_an_event_with_its_error(queue: Queue, bus: Client) -> None:
    queue.add_all([NewJob("good"), NewJob("bad", "secret payload", item_id=item_named("i"), id="job-1")])
    with queue.take(10, wait=0) as taken:
        by_name = {job.name: job for job in taken}
        taken.ack(by_name["good"])
        taken.release(by_name["bad"], failed=True, error="no good")

    assert handled(died()) == []
    (detail,) = published(bus)
    ((_, dead),) = paging.dead(queue.context, 10, None).jobs
    expected = {"tenant": "acme#1", "queue": "thumbs", "key": "bad", "jobId": "job-1", "error": "no good"}
    assert detail.items() >= (expected | {"failures": 1, "deliveries": 1, "itemId": item_named("i")}).items()
    assert detail["eventId"] == f"{dead.job.claim}:DEAD"
    assert paging.dead_at(queue.context, [record_of(detail["deadId"])])
    assert "secret" not in json.dumps(detail)


def test_a_delivery_that_is_repeated_has_the_same_ids(queue: Queue, bus: Client) -> None:
    queue.add_all([NewJob(str(number)) for number in range(12)])
    worked(queue, failed=True)
    worked(queue, failed=True)
    records = died()
    handled(records)
    handled(records)
    ids = [detail["eventId"] for detail in published(bus)]

    assert len(set(ids)) == 12
    assert ids[:12] == ids[12:]
    assert [len(request) for request in bus.requests] == [10, 2] * 2


def test_a_job_that_dies_again_has_another_id(queue: Queue, bus: Client) -> None:
    queue.add("a")
    worked(queue, failed=True)
    revive_all(queue)
    worked(queue, failed=True)
    handled(died())
    first, second = published(bus)

    assert first["jobId"] == second["jobId"]
    assert first["eventId"] != second["eventId"]


def test_a_job_that_succeeds_or_is_revived_is_no_event(queue: Queue) -> None:
    queue.add("a")
    worked(queue, failed=False)
    assert died() == []

    queue.add("b")
    worked(queue, failed=True)
    before = died()
    revive_all(queue)
    assert died() == before


def test_a_bus_that_takes_no_event_fails_the_delivery(queue: Queue, bus: Client) -> None:
    queue.add("a")
    worked(queue, failed=True)
    bus.refusals = 99

    with pytest.raises(StoreUnavailable):
        handled(died())


def test_the_stream_is_retried_from_a_record_that_cannot_be_read(queue: Queue, bus: Client) -> None:
    queue.add_all([NewJob(str(number)) for number in range(3)])
    worked(queue, failed=True)
    records = died()
    records[1]["dynamodb"]["NewImage"]["schemaVersion"] = {"N": "99"}

    assert handled(records) == [records[1]["dynamodb"]["SequenceNumber"]]
    assert len(published(bus)) == 1
