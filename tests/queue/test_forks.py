"""A process that forks while it works on a queue: the child does not share its parent's session and jobs."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from fanin.client.queues.aio import AsyncQueue
from fanin.errors import InvalidRequest
from fanin.queue import MemoryDoorbell, Options, Queue, QueueContext
from fanin.queue.memory import MemoryStore
from tests.forks import forked, status_of
from tests.queue.conftest import KEY, names, session_of, shown


def test_a_child_leaves_its_parents_session_and_jobs_alone(queue):
    queue.add_all([*"ab"])
    scope = queue.take(1, wait=0)
    scope.__enter__()
    parents = session_of(queue)

    def work():
        with queue.take(1, wait=0) as jobs:
            assert names(jobs) == ["b"]
        queue.close()
        assert names(queue.in_progress()) == ["a"]
        assert [member.id for member in queue.sessions()] == [parents.id]
        assert parents.alive()

    assert status_of(forked(work)) == 0


@pytest.mark.parametrize("error", [None, SystemExit(), ValueError()])
def test_a_child_that_leaves_its_parents_scope_neither_acks_nor_returns(queue, error):
    queue.add_all([*"ab"])
    scope = queue.take(2, wait=0)
    scope.__enter__()

    def work():
        with pytest.raises(InvalidRequest):
            scope.ack(scope[0])
        scope.__exit__(error and type(error), error, None)
        assert names(queue.in_progress()) == ["a", "b"]

    assert status_of(forked(work)) == 0
    scope.ack(scope[0])
    assert names(queue.in_progress()) == ["b"]


def test_a_child_that_leaves_a_bounded_block_does_not_end_its_parents_session(queue):
    bounded = queue.bounded(60)
    bounded.__enter__()
    (member,) = queue.sessions()

    def work():
        bounded.__exit__(None, None, None)
        assert queue.sessions() == [member]

    assert status_of(forked(work)) == 0


def test_a_child_takes_though_its_parent_waits_in_a_take():
    queue = Queue(QueueContext(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=1)))
    waiting = threading.Thread(target=lambda: list(queue.stream(wait=60)), daemon=True)
    waiting.start()
    while not queue.taker.lock.line:
        threading.Event().wait(0.001)

    def work():
        queue.context = replace(queue.context, doorbell=MemoryDoorbell())
        queue.add("a")
        with queue.take(wait=60) as jobs:
            assert names(jobs) == ["a"]

    # The store's lock may be held at the fork by the thread that looks; the real ones have none.
    with queue.context.store.lock:
        child = forked(lambda: (setattr(queue.context.store, "lock", threading.RLock()), work()))

    assert status_of(child) == 0
    queue.close()
    queue.add("b")
    waiting.join(60)


def test_a_child_uses_the_queue_for_asyncio_in_a_loop_of_its_own():
    queue = AsyncQueue(shown(Queue(QueueContext(MemoryStore(), MemoryDoorbell(), KEY, Options(parts=1)))))

    async def add_many(keys):
        return await asyncio.gather(*map(queue.add, keys))

    async def take():
        async with queue.take(wait=60) as jobs:
            return names(jobs)

    asyncio.run(add_many("abcdefgh"))  # leaves idle threads, which the child does not have

    def work():
        assert asyncio.run(take()) == ["a"]

    assert status_of(forked(work)) == 0
    queue.queue.close()
