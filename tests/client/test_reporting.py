"""Outcomes that a function reports of its own item: its return confirms them, and heals no failure."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from fanin import AsyncFanin, InvalidRequest, Items, NewJob, StoreUnavailable
from fanin.client.queues.job_acks import acking
from tests.client.conftest import answers, lost_before, work_queue
from tests.client.received import DELETED, RETURNED, acked, delivered, received
from tests.forks import forked, status_of

REASON = "not a JPEG"


def in_a_coroutine(fanin, item):
    asyncio.run(AsyncFanin(fanin).fail([item], REASON))


def in_a_thread(fanin, item):
    asyncio.run(asyncio.to_thread(fanin.fail, [item], REASON))


def in_a_pool(fanin, item):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fanin.fail, [item], REASON).result()


WAYS = {
    "fail": lambda fanin, item: fanin.fail([item], REASON),
    "fail of several items": lambda fanin, item: fanin.fail([fanin.open().add(1)[0], item], REASON),
    "coroutine": in_a_coroutine,
    "thread": in_a_thread,
    "pool": in_a_pool,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_item_that_its_function_failed_stays_failed_when_the_function_returns(fanin, batch, way):
    item = batch.items[1]

    assert delivered(fanin, item, lambda record: WAYS[way](fanin, record["body"])) == DELETED
    assert acked(batch) == (1, 1)
    assert [(each.item_id, each.reason) for each in batch.samples()] == [(item, REASON)]


@pytest.mark.parametrize("wrong", [0, 3])
def test_a_function_that_fails_an_item_of_no_batch_gets_its_message_again(fanin, batch, wrong):
    item = batch.items[0]
    no_item = f"{fanin.open().id}{item[36:]}" if wrong == 0 else f"{item[:-1]}{wrong}"

    assert delivered(fanin, item, lambda _: fanin.fail([no_item], REASON)) == RETURNED
    no_range = Items(*no_item.split(":")[:2], wrong + 1)[wrong:]
    assert delivered(fanin, item, lambda _: fanin.fail_ranges(no_range)) == RETURNED
    assert acked(batch) == (0, 0)
    assert delivered(fanin, item, lambda _: fanin.ack([no_item])) == DELETED


def test_a_function_that_raises_after_its_report_gets_its_message_again_and_can_heal_the_item(fanin, batch):
    def work(record):
        fanin.fail([record["body"]], REASON)
        raise ValueError("once more")

    assert delivered(fanin, batch.items[0], work) == RETURNED
    assert acked(batch) == (1, 1)
    assert delivered(fanin, batch.items[0], lambda _: None, 2) == DELETED
    assert acked(batch) == (1, 0)


@pytest.mark.parametrize("fault", [lost_before, answers(503)])
def test_a_report_without_an_answer_is_sent_again_when_the_function_returns(over_http, service, fault):
    batch = over_http.open()
    item = batch.add(2)[0]

    def work(record):
        service.faults += [fault] * 5
        with suppress(StoreUnavailable):
            over_http.fail([record["body"]], REASON)

    assert over_http.acks(work)(received(item), None) == DELETED
    assert acked(batch) == (1, 1)


# Jobs whose worker fails the item.


@pytest.fixture
def stalled(fanin):
    """Whether the acks of ended jobs are lost."""
    return [False]


@pytest.fixture
def jobs(fanin, stalled):
    report = acking(fanin._transport)

    def report_unless_stalled(entry):
        if stalled[0]:
            raise StoreUnavailable("lost")
        report(entry)

    return work_queue(report_unless_stalled)


ENDS = {"left": lambda jobs, job: None, "acked": lambda jobs, job: jobs.ack(job)}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("is_stalled", [False, True])
def test_the_item_that_the_worker_of_a_job_failed_stays_failed_when_the_job_is_done(
    fanin, batch, jobs, stalled, end, is_stalled
):
    jobs.add(NewJob("job", item_id=batch.items[0]))
    jobs.add(NewJob("other", item_id=batch.items[1]))
    stalled[0] = is_stalled
    with jobs.take(2, wait=0) as taken:
        fanin.fail([batch.items[0]], REASON)
        for job in list(taken):
            ENDS[end](taken, job)
    stalled[0] = False
    jobs.sweep()

    assert acked(batch) == (2, 1)
    assert [(each.item_id, each.reason) for each in batch.samples()] == [(batch.items[0], REASON)]


def test_a_forked_child_does_not_fail_the_item_of_a_job_that_its_parent_holds(fanin, batch, jobs):
    def child():
        with pytest.raises(InvalidRequest, match="forked"):
            fanin.fail([batch.items[0]], REASON)

    jobs.add(NewJob("job", item_id=batch.items[0]))
    with jobs.take(1, wait=0):
        assert status_of(forked(child)) == 0

    assert acked(batch) == (1, 0)


def test_the_item_of_a_job_gets_no_owner_beside_the_job_that_is_worked_on(fanin, batch, jobs):
    jobs.add(NewJob("job", item_id=batch.items[0]))
    with jobs.take(1, wait=0), pytest.raises(InvalidRequest, match="acked by the job"):
        fanin.open(parent=batch.items[0])

    assert acked(batch) == (1, 0)
