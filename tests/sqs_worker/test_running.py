"""A worker in this process: what its handlers may do, what is acked together, and what stops it."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
import time
from collections import Counter

import pytest

from fanin.client.sqs_worker import running
from fanin.client.sqs_worker.handlers import consumer_of
from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import Message
from fanin.client.sqs_worker.running import Running, StopRequest
from fanin.errors import AccessDenied
from fanin.testing import FakeFanin
from tests.polling import eventually
from tests.sqs_worker.source import MemorySource


@pytest.fixture
def fanin():
    return FakeFanin()


@pytest.fixture
def opened(fanin):
    """Opens a batch of so many items; its items."""

    def make(count, **options):
        with fanin.open(**options) as batch:
            return batch, [str(item) for item in batch.add(count)]

    return make


def work(fanin, source, handler, until, **options):
    """Work until *until* returns true, then stop; the summary."""
    consumer = consumer_of(handler, fanin._transport, options)
    stop = StopRequest()
    run = Running(source, consumer, options.get("concurrency", 10), options.get("visibility", 60), 5, stop)
    threading.Thread(target=lambda: (eventually(until), stop.again()), daemon=True).start()
    return run.run()


def is_settled(source):
    return lambda: len(source.deleted) == source.total


@pytest.mark.parametrize("in_tasks", [False, True], ids=["threads", "tasks"])
def test_five_hundred_handlers_are_under_work_at_once_and_few_requests_ack_them(
    fanin, opened, monkeypatch, in_tasks
):
    count = 500 if in_tasks else 40
    batch, items = opened(count)
    source, requests = MemorySource(*items), Counter()
    barrier, met = threading.Barrier(count), asyncio.Event()
    running_now, ack = [], fanin._transport.ack

    async def awaited(record):
        running_now.append(record)
        if len(running_now) == count:
            met.set()
        await met.wait()

    def counted(acks, key=None):
        requests["acks"] += 1
        return ack(acks, key)

    monkeypatch.setattr(
        type(fanin._transport), "ack", lambda self, acks, key=None: counted(acks, key), raising=False
    )
    handler = awaited if in_tasks else lambda record: barrier.wait(60)
    summary = work(fanin, source, handler, is_settled(source), concurrency=count)

    assert (batch.status().result, summary.deleted) == ("succeeded", count)
    assert requests["acks"] < source.received


@pytest.mark.parametrize("in_tasks", [False, True], ids=["threads", "tasks"])
def test_a_handler_fails_hands_over_raises_and_returns_results_as_on_lambda(fanin, opened, in_tasks):
    batch, items = opened(5, results=True)
    source = MemorySource(*items)

    def handle(record):
        at = items.index(record["body"])
        if at == 0:
            raise fanin.Failed("not a JPEG")
        if at == 1:
            raise ValueError("no address")
        if at == 2:
            fanin.fail([items[2]], "reported")
        if at == 3:
            fanin.hand_over()
        return {"at": at}

    async def awaited(record):
        await asyncio.sleep(0)
        return handle(record)

    handler = awaited if in_tasks else handle
    work(fanin, source, handler, is_settled(source), fail_after=1, results=True)

    assert (batch.status().acked, batch.status().failed) == (4, 3)
    assert sorted(each.reason for each in batch.samples()) == [
        "ValueError: no address",
        "not a JPEG",
        "reported",
    ]
    fanin.ack([items[3]])
    assert list(batch.results()) == [(items[4], {"at": 4})]


def test_the_summary_says_whether_ctrl_c_stopped_the_worker(fanin, opened):
    for stop, interrupted in ((signal.SIGINT, True), (signal.SIGTERM, False)):
        _, items = opened(1)
        source = MemorySource(*items)

        def until(stop=stop, source=source):
            return is_settled(source)() and os.kill(os.getpid(), stop) is None

        assert work(fanin, source, lambda _: None, until).interrupted is interrupted


def test_messages_that_return_are_not_deleted_and_those_of_an_ended_batch_are_not_worked_on(fanin, opened):
    _, items = opened(2)
    ended, others = opened(1)
    ended.cancel()
    source, begun = MemorySource(*items, *others), []

    def handle(record):
        begun.append(record["body"])
        if record["body"] == items[0]:
            raise ValueError("try again")

    summary = work(fanin, source, handle, lambda: len(source.deleted) == 2)

    assert sorted(begun) == sorted(items)
    assert (sorted(source.deleted), summary.returned) == (["r1", "r2"], 1)


def test_a_group_goes_one_by_one_and_returns_behind_a_message_that_does(fanin, opened):
    _, items = opened(6)
    source, begun = MemorySource(*items, groups="ababab"), []

    def handle(record):
        begun.append(record["messageId"])
        if record["messageId"] == "m2":
            raise ValueError("try again")

    work(fanin, source, handle, lambda: len(source.deleted) == 4)

    assert [each for each in begun if each in ("m0", "m2", "m4")] == ["m0", "m2"]
    assert [each for each in source.deleted if each in ("r1", "r3", "r5")] == ["r1", "r3", "r5"]


def test_redelivered_messages_are_under_work_alone(fanin, opened):
    _, items = opened(8)
    source, at_once, most = MemorySource(*items, receives=2), [], []

    def handle(record):
        at_once.append(record)
        most.append(len(at_once))
        at_once.pop()

    work(fanin, source, handle, is_settled(source))

    assert max(most) == 1


def test_at_a_stop_what_waits_is_visible_again_and_what_is_under_work_returns_at_the_end(
    fanin, opened, monkeypatch
):
    monkeypatch.setattr(running, "SETTLE_SECONDS", 4.9)
    _, items = opened(3)
    source, begun, release = MemorySource(*items), [], threading.Event()

    def handle(record):
        begun.append(record["receiptHandle"])
        release.wait(60)

    summary = work(fanin, source, handle, lambda: begun, concurrency=1)
    release.set()

    assert (summary.unfinished, summary.released, source.deleted) == (1, 3, [])
    assert sorted(source.hidden) == [("r0", 0), ("r1", 0), ("r2", 0)]


def test_receives_that_fail_are_repeated_after_growing_pauses(fanin, opened, monkeypatch):
    _, items = opened(1)
    source = MemorySource(*items)
    source.outages = 2
    monkeypatch.setattr("fanin.client.sqs_worker.worker.FIRST_PAUSE_SECONDS", 0.001)

    assert work(fanin, source, lambda record: None, is_settled(source)).deleted == 1


def test_a_message_that_cannot_be_deleted_is_reported_and_kept(fanin, opened, caplog):
    batch, items = opened(1)
    source = MemorySource(*items)
    source.refused = {"r0"}

    summary = work(fanin, source, lambda record: None, lambda: "not deleted" in caplog.text)

    assert (summary.deleted, summary.returned, batch.status().acked) == (0, 1, 1)
    assert "they come back, and are deleted without work" in caplog.text


def test_messages_that_threads_delete_at_once_are_all_counted(fanin, opened):
    class Slow(Counter):
        def __getitem__(self, name):
            found = super().__getitem__(name)
            time.sleep(0.02)
            return found

    source, stop = MemorySource(*opened(40)[1]), StopRequest()
    run = Running(source, consumer_of(lambda record: None, fanin._transport, {}), 10, 60, 5, stop)
    run.worker.counts = Slow()
    threading.Thread(target=lambda: (eventually(is_settled(source)), stop.again()), daemon=True).start()

    assert run.run().deleted == 40


@pytest.mark.parametrize(
    "error", [AccessDenied("no grant for POST /v1/acks"), SystemExit("the handler ends it")]
)
def test_an_error_that_another_attempt_would_meet_stops_the_worker_and_is_raised(
    fanin, opened, monkeypatch, error
):
    _, items = opened(3)
    source = MemorySource(*items)

    def fail(*_):
        raise error

    if isinstance(error, AccessDenied):
        monkeypatch.setattr("fanin.client.sqs_worker.performing.ConsumerPerformer.settle", fail)
    with pytest.raises(type(error)):
        work(fanin, source, fail if isinstance(error, SystemExit) else lambda record: None, lambda: False)

    assert source.deleted == []


def taken(number, take):
    """Return what *number* threads take, each once, as they do."""
    took = []
    for _ in range(number):
        threading.Thread(target=lambda: took.append(take()), daemon=True).start()
    return took


def test_messages_wake_as_many_threads_that_start_them_and_room_as_many_that_receive():
    in_flight = InFlight(20)
    records = MemorySource(*"abcdefghijklmnopqrstuvwxyz0123").receive(30, 0, None)

    def start():
        in_flight.await_start(600)
        return in_flight.start(0)

    def receive():
        with in_flight.has_room:
            in_flight.has_room.wait_for(lambda: in_flight.room, 600)
        return in_flight.begin_receive()

    started = taken(20, start)
    assert in_flight.begin_receive()
    in_flight.end_receive([Message(record, 0, math.inf) for record in records])
    assert eventually(lambda: len(started) == 20)
    assert [len(each) for each in started] == [1] * 20

    received = taken(2, receive)
    in_flight.end_work([message for each in started for message in each])
    assert eventually(lambda: received == [10, 10])
