"""The queue for asyncio: the same scopes; what needs the table, and its waiting, runs in threads.

A cancelled scope returns its jobs and counts no failure, at whatever point it is cancelled.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from fanin.arguments import Seconds, instance
from fanin.aws.forking import PerProcess
from fanin.client.aio.calls import Calls, awaited, iterated
from fanin.client.aio.threads import run_in
from fanin.client.queues.queue import Queue
from fanin.client.queues.queue_model import Job
from fanin.client.queues.scope import Jobs
from fanin.queue import Doorbell, Ring, ShutDown
from fanin.queue.rules.taking import TakeRequest, checked_wait
from fanin.queue.store import Write

POLL_SECONDS = 1.0
"""The longest wait of a take after its cancellation."""
ROWS_AT_ONCE = 100
"""The rows of a list that one call reads: those of a page."""
T = TypeVar("T")


@dataclass
class StoppableDoorbell:
    """A doorbell whose wait ends soon after *stopped* is set: it polls for a second at a time."""

    bell: Doorbell
    stopped: threading.Event

    def at(self, url: str | None) -> Self:
        return replace(self, bell=self.bell.at(url))

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        self.bell.ring(rings, delay)

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        until = time.monotonic() + seconds
        while not self.stopped.is_set():
            remaining = until - time.monotonic()
            rings = self.bell.wait(max(0.0, min(POLL_SECONDS, remaining)), most)
            if rings or remaining <= POLL_SECONDS:
                return rings
        raise ShutDown("this take was cancelled")

    def pause(self, seconds: float) -> None:
        if self.stopped.wait(min(POLL_SECONDS, seconds)):
            raise ShutDown("this take was cancelled")

    def delete(self, rings: Sequence[Ring]) -> None:
        self.bell.delete(rings)


@dataclass(frozen=True, slots=True)
class InThreads:
    """Runs calls of a queue in its *threads*."""

    threads: PerProcess[ThreadPoolExecutor]

    async def call(self, call: Callable[[], T]) -> T:
        """Return the result of *call*; a cancellation is raised once it has ended."""
        return await run_in(self.threads(), call)


class AsyncQueue:
    """A queue for coroutines, which replaces *queue*: all its calls but those of Lambda and of the sweep.

    ``AsyncFanin.queue`` returns one, whose requests to the API alone are on the event loop, as *caller* makes
    them. A queue with a worker, which uses its table, runs its calls in threads, as does one without a
    *caller*. The heartbeat is in a thread, so it does not depend on the event loop.
    """

    def __init__(self, queue: Queue, *, caller: Calls | None = None) -> None:
        instance(queue, Queue, "queue", "queue")
        self.stopped = threading.Event()
        self.queue = queue.separate(lambda bell: StoppableDoorbell(bell, self.stopped))
        self.line = PerProcess(asyncio.Lock)
        self.threads = PerProcess(partial(ThreadPoolExecutor, thread_name_prefix=queue.name))
        self._given = caller
        self.caller: Calls = InThreads(self.threads) if caller is None or queue.has_worker else caller

    def __reduce__(self) -> Any:
        """Return how a copy is made, which connects anew, as one of ``Queue`` does."""
        return partial(type(self), caller=self._given), (self.queue,)

    @property
    def sync(self) -> Queue:
        """The queue that runs the calls."""
        return self.queue

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        await self.caller.call(self.queue.close)

    add = awaited(Queue.add)
    add_all = awaited(Queue.add_all)
    ensure = awaited(Queue.ensure)
    status = awaited(Queue.status)
    sessions = iterated(Queue.sessions, ROWS_AT_ONCE)
    jobs = iterated(Queue.jobs, ROWS_AT_ONCE)
    revive = awaited(Queue.revive)
    revive_all = awaited(Queue.revive_all)
    delete = awaited(Queue.delete)
    pause = awaited(Queue.pause)
    resume = awaited(Queue.resume)
    remove = awaited(Queue.remove)

    def take(
        self, most: int = 1, wait: Seconds | None = None, parts: Sequence[int] | None = None
    ) -> AsyncJobs:
        """As ``Queue.take``; a take that is cancelled while it waits ends within a second."""
        return AsyncJobs(self, TakeRequest(most, checked_wait(wait), parts))

    def stream(self, wait: Seconds | None = None) -> AsyncGenerator[Job, None]:
        """As ``Queue.stream``; in ``contextlib.aclosing``, leaving the loop returns its job at once."""
        return self._stream(checked_wait(wait))

    async def _stream(self, wait: float | None) -> AsyncGenerator[Job, None]:
        with suppress(ShutDown):
            while True:
                async with self.take(1, wait) as jobs:
                    if not jobs:
                        return
                    yield jobs[0]


class AsyncJobs(Sequence[Job]):
    """The jobs of one take, as ``Jobs``, for ``async with``."""

    def __init__(self, queue: AsyncQueue, request: TakeRequest) -> None:
        self._queue, self._request = queue, request
        self._scope = queue.queue.take(request.most, request.wait, request.parts)  # empty until it is entered

    async def __aenter__(self) -> Self:
        began = time.monotonic()
        if await self._acquired():
            try:
                await self._enter(self._remaining(time.monotonic() - began))
            finally:
                self._queue.line().release()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await run_in(self._queue.threads(), lambda: self._scope.__exit__(kind, error, trace))

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        return self._scope[index]

    def __len__(self) -> int:
        return len(self._scope)

    @property
    def lost(self) -> bool:
        """As ``Jobs.lost``."""
        return self._scope.lost

    async def ack(self, job: Job, writes: Sequence[Write] = (), *, result: object = None) -> Job:
        """As ``Jobs.ack``; a cancellation is raised once the ack has succeeded or failed."""
        return await run_in(self._queue.threads(), lambda: self._scope.ack(job, writes, result=result))

    async def release(
        self, job: Job, *, failed: bool = False, delay: Seconds | None = None, error: str = ""
    ) -> None:
        """As ``Jobs.release``."""
        await run_in(
            self._queue.threads(), lambda: self._scope.release(job, failed=failed, delay=delay, error=error)
        )

    async def fail(self, job: Job, reason: str) -> None:
        """As ``Jobs.fail``."""
        await run_in(self._queue.threads(), lambda: self._scope.fail(job, reason))

    def _remaining(self, spent: float) -> Jobs:
        """Return the take that is left after *spent* seconds of its wait."""
        most, wait, parts = self._request.most, self._request.wait, self._request.parts
        return self._queue.queue.take(most, None if wait is None else max(0.0, wait - spent), parts)

    async def _acquired(self) -> bool:
        """Acquire the lock that lets takes through one at a time; return whether that was in time."""
        try:
            async with asyncio.timeout(self._request.wait):
                await self._queue.line().acquire()
        except TimeoutError:
            return False
        return True

    async def _enter(self, scope: Jobs) -> None:
        """Take; on a cancellation, return what was taken before it is raised."""
        self._scope, stopped = scope, self._queue.stopped
        stopped.clear()
        try:
            await run_in(self._queue.threads(), scope.__enter__, stopped.set)
        except asyncio.CancelledError as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
