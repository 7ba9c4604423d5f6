"""The queue for asyncio: its scopes and arguments, and what a cancellation leaves behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress

import pytest

from fanin.client.queues.aio import AsyncQueue, StoppableDoorbell, run_in
from fanin.errors import InvalidRequest
from fanin.queue import MemoryDoorbell, NewJob, Options, Queue, QueueContext, ShutDown
from fanin.queue.memory import MemoryStore
from tests.queue.conftest import KEY, OUTCOME, Counting, expects, names, session_of, shown

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A wait that is cancelled ends soon."""
    monkeypatch.setattr("fanin.client.queues.aio.POLL_SECONDS", 0.01)


@pytest.fixture
def inner():
    return Queue(QueueContext(Counting(), MemoryDoorbell(), KEY, Options(parts=1)))


def run(inner, story):
    """Play a story with the queue for asyncio, and close it."""

    async def play():
        async with AsyncQueue(shown(inner)) as queue, asyncio.timeout(PATIENCE):
            return await story(queue)

    return asyncio.run(play())


def inner_taker(queue):
    """The taker of a queue for asyncio, which has a session of its own."""
    return queue.queue._worker.taker


def queued(inner) -> list[tuple[str, int, int]]:
    return [(job.name, job.failures, job.deliveries) for job in inner.queued()]


async def until(holds) -> None:
    while not holds():
        await asyncio.sleep(0.001)


class Gate:
    """Holds up a request of the store, after it was carried out, until it is opened."""

    def __init__(self, store, name: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self.whole = getattr(store, name)
        setattr(store, name, self.call)

    def call(self, *args):
        answer = self.whole(*args)
        self.reached.set()
        assert self.open.wait(PATIENCE)
        return answer


async def cancelled_at(gate: Gate, task: asyncio.Task) -> None:
    """Cancel a task twice while its request is held up: it does not end before the request."""
    await until(gate.reached.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
    gate.open.set()
    with expects(asyncio.CancelledError):
        await task


def test_06_q5_a_take_waits_for_a_job_and_acks_it_on_leaving(inner):
    async def story(queue):
        taking = asyncio.create_task(take_one(queue))
        await until(lambda: inner_taker(queue).lock.line)
        added = await queue.add("a")
        return added, await taking

    async def take_one(queue):
        async with queue.take(2) as jobs:
            return names(jobs), jobs.lost, jobs[0].key, len(jobs)

    assert run(inner, story) == (True, (["a"], False, "a", 1))
    assert inner.depth().ready == inner.depth().busy == 0
    assert inner.context.store.members(KEY) == []


def test_a_wait_without_a_ring_ends_with_its_time():
    assert StoppableDoorbell(MemoryDoorbell(), threading.Event()).wait(0.03, 1) == ()


def test_single_jobs_are_acked_with_writes_and_released(inner):
    async def story(queue):
        rejected = await queue.add_all(["a", NewJob("b"), "c", "a"])
        assert not await queue.add("c")
        async with queue.take(3) as jobs:
            await jobs.ack(jobs[0], [OUTCOME])
            await jobs.release(jobs[1], failed=True)
            with pytest.raises(InvalidRequest):
                await jobs.ack(jobs[0])
        return [refused.key for refused in rejected]

    assert run(inner, story) == ["a"]
    assert inner.context.store.written == [OUTCOME]
    assert queued(inner) == [("b", 1, 1)]


def test_a_cancelled_scope_returns_its_jobs_and_counts_nothing(inner):
    async def story(queue):
        await queue.add_all([*"ab"])
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05), queue.take(2):
                await asyncio.sleep(PATIENCE)

    run(inner, story)

    assert queued(inner) == [("a", 0, 1), ("b", 0, 1)]


def test_what_is_claimed_when_the_cancellation_comes_is_returned(inner):
    gate = Gate(inner.context.store, "claim")

    async def story(queue):
        await queue.add("a")
        taking = asyncio.create_task(enter(queue.take()))
        await cancelled_at(gate, taking)
        return queued(inner), inner.in_progress(), inner_taker(queue).worker.session.held

    async def enter(scope):
        async with scope:
            raise AssertionError("the job must not run")

    assert run(inner, story) == ([("a", 0, 1)], [], {})


def test_an_ack_that_is_cancelled_is_done_and_the_others_are_returned(inner):
    async def story(queue):
        await queue.add_all([*"ab"])
        gate = Gate(inner.context.store, "end")
        working = asyncio.create_task(work(queue))
        await cancelled_at(gate, working)

    async def work(queue):
        async with queue.take(2) as jobs:
            await jobs.ack(jobs[0], [OUTCOME])

    run(inner, story)

    assert inner.context.store.written == [OUTCOME]
    assert queued(inner) == [("b", 0, 1)]


def test_waiters_are_served_in_order_and_one_that_timed_out_is_skipped(inner):
    async def story(queue):
        served = []

        async def wait(number):
            async with queue.take() as jobs:
                served.append((number, names(jobs)))

        waiting = []
        for number in range(3):
            waiting.append(asyncio.create_task(wait(number)))
            await until(lambda: inner_taker(queue).lock.line)
        waiting[1].cancel()
        for key in "ab":
            await queue.add(key)
        await asyncio.gather(*waiting, return_exceptions=True)
        return served

    assert run(inner, story) == [(0, ["a"]), (2, ["b"])]


def test_a_stream_acks_each_job_when_the_next_is_asked_for(inner):
    async def story(queue):
        await queue.add_all([*"abc"])
        return [(job.key, len(inner.queued())) async for job in queue.stream(wait=0)]

    assert run(inner, story) == [("a", 2), ("b", 1), ("c", 0)]
    assert inner.depth().busy == 0


def test_closing_ends_a_waiting_stream_and_returns_what_is_held(inner):
    async def story(queue):
        streaming = asyncio.create_task(drain(queue))
        await until(lambda: inner_taker(queue).lock.line)
        await queue.__aexit__(None, None, None)
        await streaming
        with expects(ShutDown):
            async with queue.take():
                pass

    async def drain(queue):
        async for _ in queue.stream():
            pass

    run(inner, story)

    assert inner.context.store.members(KEY) == []


@pytest.fixture
def strict():
    options = Options(parts=1, max_failures=1)
    return Queue(
        QueueContext(MemoryStore(), MemoryDoorbell(), KEY, options), background=lambda _: lambda: None
    )


def test_the_session_of_the_replaced_queue_is_its_own(strict):
    """Jobs that were taken before are not returned when the queue for asyncio is closed."""
    strict.add(NewJob("a"))
    scope = strict.take(wait=0)
    scope.__enter__()
    held = session_of(strict)

    async def story(queue):
        await queue.add("b")
        async with queue.take() as jobs:  # by its ring: the other session may own the part
            return names(jobs), inner_taker(queue).worker.session.id

    taken, session = run(strict, story)

    assert taken == ["b"]
    assert session != held.id
    assert names(strict.in_progress()) == ["a"]
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


def test_a_lock_that_is_not_acquired_in_time_gives_an_empty_take(inner):
    async def story(queue):
        first = asyncio.create_task(enter(queue, None))
        await until(lambda: inner_taker(queue).lock.line)
        second = await enter(queue, 0.01), await enter(queue, 0)
        await queue.add("a")
        return second, await first, await enter(queue, 0)

    async def enter(queue, wait):
        async with queue.take(1, wait) as jobs:
            return names(jobs)

    assert run(inner, story) == (([], []), ["a"], [])


def test_a_take_of_a_paused_queue_that_is_cancelled_pauses_no_more():
    doorbell = StoppableDoorbell(MemoryDoorbell(), threading.Event())
    doorbell.pause(0)
    doorbell.stopped.set()

    with pytest.raises(ShutDown, match="cancelled"):
        doorbell.pause(PATIENCE)


def test_a_list_is_read_beside_the_event_loop(inner, monkeypatch):
    readers = []
    listed = Queue.sessions
    monkeypatch.setattr(
        Queue, "sessions", lambda self: readers.append(threading.current_thread()) or listed(self)
    )

    async def story(queue):
        await queue.add("a", {"n": 1})
        return [job.payload async for job in queue.jobs()], [each async for each in queue.sessions()]

    assert run(inner, story) == ([{"n": 1}], [])
    assert threading.main_thread() not in readers
