"""The event that is put at once is the one that the stream sends, and nothing that fails here is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from fanin import names
from fanin.api.bus_events.ending_events import endings
from fanin.aws import clients
from fanin.aws.messaging.bus import Event
from fanin.completion_events.announcer import REST_FACTOR, Announcer, announced_on
from fanin.errors import StoreUnavailable
from fanin.tracker import Ack, AckReport, Batch, BatchKey, Mode, OpenBatch, Outcome, Tracker
from fanin.tracker.announcing import announcing
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER
from tests.grouper.test_eventbridge import Client

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Site:
    """A tracker with a bus in memory. ``failure``: what each put raises; it takes ``seconds``."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.bus: list[Event] = []
        self.reported: list[bool] = []
        self.failure: Exception | None = None
        self.seconds = self.clock = 0.0
        self.tries = 0
        announcer = Announcer(self.memory, self.put, self.reported.append, lambda: self.clock)
        self.tracker = self.tracker_on(announcing(self.memory, announcer))

    def tracker_on(self, store: Any) -> Tracker:
        return Tracker(store, page_bits=4, fresh_for=timedelta(0), now=lambda: AT, pause=lambda _: None)

    def put(self, events: Any) -> None:
        self.tries += 1
        self.clock += self.seconds
        if self.failure is not None:
            raise self.failure
        self.bus += events

    def completed(self, count: int = 6, failed: int = 0, **options: Any) -> tuple[Batch, AckReport]:
        """Complete a batch with one request; return it, and the report."""
        batch_id = self.tracker.open("t", OpenBatch(**options)).batch_id
        group = self.tracker.add("t", batch_id, count).groups[0].id
        self.tracker.close("t", batch_id, "closer")
        if failed:
            self.tracker.ack("t", [Ack(batch_id, group, 0, failed - 1, "worker", Outcome.FAILURE, "broken")])
        report = self.tracker.ack("t", [Ack(batch_id, group, failed, count - 1, "worker")])
        return self.memory.batches[BatchKey("t", batch_id)], report

    def streamed(self, batch: Batch, sk: str = "batch") -> list[dict[str, Any]]:
        """Return what the stream sends for the end of *batch*, or for the notice *sk*."""
        keys = {"pk": {"S": str(batch.key)}, "sk": {"S": sk}}
        return endings([{"dynamodb": {"Keys": keys, "NewImage": keys}}], self.tracker_on(self.memory))


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"user_key": '"}],"x', "labels": {"team": "käy", "a": ""}, "callback": "orders"},
        {"failed": 2},
        {"failed": 2, "max_failures": 3, "expected_items": 6},
        {"failed": 1, "max_failure_percent": 90},
        {"task_token": "a-token", "deadline": timedelta(hours=1)},
        {"notify_at": ["50%"], "stuck_after": timedelta(minutes=1)},
        {"mode": Mode.ESTIMATED},
        {"mode": Mode.ESTIMATED, "max_failures": 9, "failed": 1},
    ],
    ids=str,
)
def test_the_event_is_byte_for_byte_that_of_the_stream(site: Site, options: dict[str, Any]) -> None:
    batch, _ = site.completed(**options)
    site.memory.put.clear()
    (at_once,), (streamed,) = site.bus, site.streamed(batch)

    assert json.dumps(at_once.detail) == json.dumps(streamed)
    assert at_once.detail_type == streamed["detailType"] == names.BATCH_COMPLETED
    assert (streamed["acked"], streamed["outstanding"]) == (6, 0)


def test_what_is_on_the_bus_is_marked_and_the_stream_sends_it_only_for_a_notice(site: Site) -> None:
    batch, report = site.completed()

    assert report.completions
    assert site.memory.put == {batch.key}
    assert site.streamed(batch) == []
    assert [each["eventId"] for each in site.streamed(batch, "notice#1")] == [f"{batch.batch_id}:COMPLETE"]
    assert site.reported == [True]


def test_an_event_that_a_bus_accepts_and_loses_is_sent_by_the_sweep(site: Site) -> None:
    """EventBridge accepts events for a bus that does not exist."""
    batch, _ = site.completed()
    sweeper = replace(site.tracker_on(site.memory), now=lambda: AT + CHECK_AFTER)

    assert not sweeper.is_confirmed(batch)
    assert sweeper.sweep().announced_again == 1
    assert site.memory.notices == {(batch.key, AT + CHECK_AFTER)}


FAILURES = [
    StoreUnavailable("the event bus did not accept every event"),
    ConnectTimeoutError(endpoint_url="https://events.eu-west-1.amazonaws.com"),
    KeyError("a defect"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
def test_a_put_that_fails_leaves_the_event_to_the_stream_and_the_answer_as_it_is(
    site: Site, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    site.failure = failure
    batch, report = site.completed()

    assert report.completions
    assert not site.memory.put
    assert [each["eventId"] for each in site.streamed(batch)] == [f"{batch.batch_id}:COMPLETE"]
    assert site.reported == [False]
    assert f"the stream sends the event of batch {batch.batch_id}" in caplog.text


def test_a_mark_that_fails_costs_a_second_copy_of_the_same_event(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mark_put(*_: object) -> None:
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(site.memory, "mark_put", mark_put)
    batch, report = site.completed()

    assert report.completions
    assert [each.detail for each in site.bus] == site.streamed(batch)
    assert site.reported == [False]


def test_a_bus_that_hangs_is_left_alone_for_long_and_one_that_refuses_is_soon_asked_again(site: Site) -> None:
    site.failure, site.seconds = FAILURES[1], 1.5
    for _ in range(100):
        site.completed(1)
    assert (site.tries, site.clock) == (1, 1.5)

    site.clock += REST_FACTOR * 1.5
    site.seconds = 0.01
    site.completed(1)
    assert site.tries == 2

    site.failure = None
    site.clock += REST_FACTOR * 0.01 + 0.001
    batch, _ = site.completed(1)
    assert [each.detail["batchId"] for each in site.bus] == [batch.batch_id]
    assert site.reported == [*[False] * 101, True]


def test_a_quick_refusal_does_not_shorten_the_rest_after_a_hang(site: Site) -> None:
    """A thread begins while the put of another one hangs, and is refused just after that one has failed."""
    batch, _ = site.completed()
    clock = [1.49]

    def put(_: Any) -> None:
        if clock[0] == 1.49:
            clock[0] = 1.5
            announcer._has_put(batch, started=0.0)
            clock[0] = 1.51
        raise StoreUnavailable("down")

    announcer = Announcer(site.memory, put, site.reported.append, lambda: clock[0])
    announcer(batch)
    assert announcer._rests_until == 1.5 + REST_FACTOR * 1.5


def test_there_is_one_attempt_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    client, memory = Client(refusals=1), MemoryStore()
    monkeypatch.setattr(clients.announcements, "later", lambda: client)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("a pause"))
    tracker = Tracker(announced_on("bus", memory), page_bits=4)
    batch_id = tracker.open("t", OpenBatch()).batch_id
    tracker.close("t", batch_id, "me")

    assert len(client.requests) == 1
    assert not memory.put


def test_without_a_bus_the_store_is_as_it_was() -> None:
    memory = MemoryStore()

    assert announced_on("", memory) is announced_on(None, memory) is memory
