"""Hand-over: the message of an item that has a new owner is deleted, and the owner's end acks the item."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from fanin import InvalidRequest, NewJob
from fanin.client.consuming.consumer import Consumer
from fanin.client.handing_over import under_work
from fanin.client.queues.job_acks import acking
from tests.client.conftest import sqs_event, work_queue
from tests.client.received import DELETED, RETURNED, acked, delivered, received


def test_an_item_with_a_child_is_acked_by_its_childs_end_and_not_by_the_consumer(fanin, parent):
    children = []

    def grow(record):
        with fanin.open(parent=record["body"]) as child:
            children.append(child.add(2))

    settled = Consumer(fanin._transport, grow).settle(received(parent.items[0]))

    assert (settled.response(), len(settled.handed), settled.acked) == (DELETED, 1, [])
    assert acked(parent) == (0, 0)
    fanin.ack(children[0])
    assert parent.status().result == "succeeded"


def test_an_item_is_handed_over_by_name(fanin, parent):
    assert delivered(fanin, parent.items[0], lambda _: fanin.hand_over()) == DELETED
    assert delivered(fanin, parent.items[0], lambda r: fanin.hand_over(r["body"]), 2) == DELETED
    assert acked(parent) == (0, 0)


def test_after_an_exception_the_message_returns_though_its_item_was_handed_over(fanin, parent):
    def work(_):
        fanin.hand_over()
        raise ValueError("after all")

    assert delivered(fanin, parent.items[0], work) == RETURNED
    assert acked(parent) == (0, 0)
    assert delivered(fanin, parent.items[0], work, 2, fail_after=2) == DELETED
    assert acked(parent) == (1, 1)


def test_outside_of_a_function_nothing_can_be_handed_over(fanin, parent):
    with pytest.raises(InvalidRequest, match=r"function of @fanin\.acks"):
        fanin.hand_over()
    with pytest.raises(InvalidRequest, match=r"function of @fanin\.acks"):
        fanin.hand_over(parent.items[0])
    with pytest.raises(InvalidRequest, match=r"function of @fanin\.acks"):
        fanin.is_over()
    assert under_work._all() == {}


# Tasks and jobs.


def test_an_item_with_a_task_belongs_to_the_task(over_http, grouper):
    batch = over_http.open()
    item = batch.add(1)[0]

    def register(record):
        over_http.task("x", {"n": 1}, item_id=record["body"])

    for times in (1, 2):
        assert delivered(over_http, item, register, times) == DELETED
    assert acked(batch) == (0, 0)
    assert len(grouper.world.store.stored_tasks) == 1


def test_an_item_with_a_job_belongs_to_the_job(fanin, parent):
    queue = work_queue(acking(fanin._transport))

    def add(record):
        assert queue.add(NewJob("job", item_id=record["body"]))

    for times in (1, 2):
        assert delivered(fanin, parent.items[0], add, times) == DELETED
    assert acked(parent) == (0, 0)
    with queue.take(2, wait=0) as jobs:
        assert [job.name for job in jobs] == ["job"]
    assert parent.status().result == "succeeded"


# Threads, coroutines and their contexts.


def test_a_thread_without_the_functions_context_names_its_item(fanin, parent):
    """A guess would leave the item of whichever function runs."""
    refused = []

    def work(record):
        with ThreadPoolExecutor(1) as threads:
            refused.append(threads.submit(fanin.hand_over).exception())
            refused.append(threads.submit(fanin.is_over).exception())
            threads.submit(fanin.hand_over, record["body"]).result()

    assert delivered(fanin, parent.items[0], work) == DELETED
    assert [type(error) for error in refused] == [InvalidRequest] * 2
    assert acked(parent) == (0, 0)


def in_threads_of_one_context(fanin, function, *items):
    """Deliver *items* in threads with copies of a context in which a function has run; all meet in theirs."""
    together = Barrier(len(items), timeout=20)

    @fanin.acks
    def work(record):
        together.wait()
        try:
            function(record)
        finally:
            together.wait()

    async def deliver():
        fanin.acks(lambda _: None)(sqs_event(fanin.open().add(1)[0]), None)
        return await asyncio.gather(*(asyncio.to_thread(work, sqs_event(item), None) for item in items))

    return asyncio.run(deliver())


def test_deliveries_in_copies_of_a_context_hand_over_their_own_items(fanin):
    batch = fanin.open()
    items = batch.add(4)

    def work(record):
        if record["body"] in items[::3]:
            fanin.hand_over()

    assert in_threads_of_one_context(fanin, work, *items) == [DELETED] * 4
    assert [item for part in batch.outstanding() for item in part] == list(items[::3])
