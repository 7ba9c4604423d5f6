"""The result of the item that a job stands for: kept with the end of the job, and refused before it."""

from __future__ import annotations

import asyncio

import pytest

from fanin import InvalidRequest, NewJob
from fanin.client.queues.aio import AsyncQueue
from fanin.client.queues.job_acks import ItemResults
from fanin.testing import FakeFanin
from tests.client.test_reporting import jobs, stalled

__all__ = ["jobs", "stalled"]


@pytest.fixture
def fanin():
    return FakeFanin()


def added(fanin, queue, count=1, **options):
    batch = fanin.open(results=True, **options)
    items = list(batch.add(count))
    batch.close()
    queue.add_all(NewJob(f"job {n}", item_id=item) for n, item in enumerate(items))
    return batch, items


@pytest.mark.parametrize("is_stalled", [False, True], ids=["acked at once", "acked by the sweep"])
def test_the_result_of_a_job_is_that_of_its_item_although_the_ack_was_lost(fanin, jobs, stalled, is_stalled):
    jobs.results = ItemResults(fanin._transport)
    batch, items = added(fanin, jobs, 3)
    stalled[0] = is_stalled
    with jobs.take(3, wait=0) as taken:
        for n, job in enumerate(taken[:2]):
            taken.ack(job, result={"n": n})
    stalled[0] = False
    jobs.sweep()

    assert list(batch.results()) == [(items[0], {"n": 0}), (items[1], {"n": 1})]


def test_a_job_of_asyncio_has_a_result_too(fanin):
    async def work(queue):
        async with queue.take(1, wait=0) as taken:
            await taken.ack(taken[0], result=[1])

    with fanin.queue("q") as queue:
        batch, items = added(fanin, queue)
        asyncio.run(work(AsyncQueue(queue)))

    assert list(batch.results()) == [(items[0], [1])]


def test_a_rerun_that_is_requested_meanwhile_leaves_the_result_of_this_run(fanin, jobs, stalled):
    jobs.results = ItemResults(fanin._transport)
    batch, items = added(fanin, jobs)
    stalled[0] = True
    with jobs.take(1, wait=0) as taken:
        assert jobs.add("job 0", on_busy="rerun")
        taken.ack(taken[0], result="first")
    stalled[0] = False
    jobs.sweep()

    assert list(batch.results()) == [(items[0], "first")]


def test_the_item_that_the_worker_failed_has_no_result(fanin):
    with fanin.queue("q") as queue:
        batch, items = added(fanin, queue)
        with queue.take(1, wait=0) as taken:
            fanin.fail([items[0]])
            taken.ack(taken[0], result=1)

    assert batch.status().failed == 1
    assert list(batch.results()) == []


@pytest.mark.parametrize(
    ("result", "options", "why"),
    [
        (1, {"results": False}, "keeps no results"),
        ("x" * 70_000, {}, "at most 65,536"),
        (object(), {}, "a value of JSON"),
        (1, None, "no item"),
    ],
    ids=["not kept", "long", "no JSON", "no item"],
)
def test_a_result_that_cannot_be_kept_is_refused_and_the_job_goes_on(fanin, result, options, why):
    with fanin.queue("q") as queue:
        item = None if options is None else fanin.open(**{"results": True} | options).add(1)[0]
        queue.add(NewJob("job", item_id=item))
        with pytest.raises(InvalidRequest, match=why), queue.take(1, wait=0) as taken:
            taken.ack(taken[0], result=result)

        with queue.take(1, wait=0) as again:
            assert again[0].failures == 1
