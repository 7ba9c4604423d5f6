"""The calls of the queue for asyncio: what they pass on, and what is left once it is closed."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext
from fanin.queue.aio import AsyncQueue, run_in
from fanin.queue.memory import MemoryStore
from tests.queue.conftest import KEY, expects, names, session_of

PATIENCE = 60.0


@pytest.fixture
def inner():
    options = Options(parts=1, max_failures=1)
    return Queue(
        QueueContext(MemoryStore(), MemoryDoorbell(), KEY, options), background=lambda _: lambda: None
    )


def run(inner, story):
    """Play a story with the queue for asyncio, and close it."""

    async def play():
        async with AsyncQueue(inner) as queue, asyncio.timeout(PATIENCE):
            return await story(queue)

    return asyncio.run(play())


@pytest.mark.parametrize("on_busy", ["reject", "rerun"])
def test_an_add_says_what_to_do_with_a_busy_job(inner, on_busy):
    is_accepted = on_busy == "rerun"

    async def story(queue):
        await queue.add_all(["a", "b"])
        async with queue.take(2):
            assert await queue.add("a", on_busy=on_busy) is is_accepted
            rejected = await queue.add_all(["b"], on_busy=on_busy)
        return [each.key for each in rejected]

    assert run(inner, story) == ([] if is_accepted else ["b"])
    assert names(inner.queued()) == (["a", "b"] if is_accepted else [])


def test_a_release_counts_no_failure_unless_it_says_so(inner):
    async def story(queue):
        await queue.add_all(["a", "b", "c"])
        async with queue.take(3) as jobs:
            await jobs.release(jobs[0])
            await jobs.release(jobs[1], delay=60)
            await jobs.release(jobs[2], failed=True, error="no such image")

    run(inner, story)

    assert [(job.name, job.failures) for job in inner.queued()] == [("a", 0)]
    assert [(job.name, job.failures) for job in inner.delayed()] == [("b", 0)]
    assert [(dead.job.name, dead.error) for dead in inner.dead()] == [("c", "no such image")]


def test_the_session_of_the_replaced_queue_is_its_own(inner):
    """Jobs that were taken before are not returned when the queue for asyncio is closed."""
    inner.add(NewJob("a"))
    scope = inner.take(wait=0)
    scope.__enter__()
    held = session_of(inner)

    async def story(queue):
        await queue.add("b")
        async with queue.take() as jobs:  # by its ring: the other session may own the part
            return names(jobs), jobs[0].session

    taken, session = run(inner, story)

    assert taken == ["b"]
    assert session != held.id
    assert names(inner.in_progress()) == ["a"]
    assert held.alive()


def test_the_error_of_a_call_that_was_cancelled_is_not_reported_as_forgotten():
    began, go_on, forgotten = threading.Event(), threading.Event(), []

    def call():
        began.set()
        assert go_on.wait(PATIENCE)
        raise ValueError("after the cancellation")

    async def play():
        asyncio.get_running_loop().set_exception_handler(lambda _, facts: forgotten.append(facts))
        calling = asyncio.create_task(run_in(None, call, go_on.set))
        while not began.is_set():
            await asyncio.sleep(0.001)
        calling.cancel()
        with expects(asyncio.CancelledError):
            await calling

    asyncio.run(play())
    gc.collect()

    assert forgotten == []
