"""The client for coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from fanin.arguments import Seconds, instance, whole
from fanin.client.aio.batches import RESULTS_AT_ONCE, AsyncBatch, AsyncReopened, Opening
from fanin.client.aio.calls import Caller, awaited, finished, iterated
from fanin.client.batch import Batch, Reopened
from fanin.client.fanin import Fanin
from fanin.client.model import Status
from fanin.client.queues.aio import AsyncQueue
from fanin.client.tasks import Tasks
from fanin.client.transports.environment import ENVIRONMENT, ConnectionOptions
from fanin.client.waiting import Pacing, async_looks, is_ended
from fanin.errors import InvalidRequest
from fanin.queue import Options
from fanin.settings.jobs import JobSettings
from fanin.tracker.rules.model import ALIVE
from fanin.user_functions import synchronous

CONNECTIONS, CONNECTIONS_MAX = 100, 10_000
P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B", bound=Batch)


class AsyncTasks:
    """``Tasks`` for coroutines."""

    def __init__(self, sync: Tasks, caller: Caller) -> None:
        self.sync, self.caller = sync, caller

    register = awaited(Tasks.register)
    list = iterated(Tasks.list)
    bundles = iterated(Tasks.bundles)
    targets = iterated(Tasks.targets)


async def opened_by(caller: Caller, call: Callable[[], B]) -> B:
    """Return the batch that *call* opens; a cancellation leaves it as an exception in its block does."""
    batches: list[B] = []
    try:
        await finished(caller.call(lambda: batches.append(call())))
    except asyncio.CancelledError as error:
        for batch in batches:
            await finished(caller.call(partial(batch.abandon, error)))
        raise
    return batches[0]


def opening(
    method: Callable[Concatenate[Fanin, P], Batch],
) -> Callable[Concatenate[AsyncFanin, P], Opening]:
    """Return *method*, which opens a batch, as one that returns an :class:`Opening`."""

    @wraps(method)
    def call(self: AsyncFanin, /, *args: P.args, **kwargs: P.kwargs) -> Opening:
        async def opened() -> AsyncBatch:
            return AsyncBatch(self, await opened_by(self.caller, lambda: method(self.sync, *args, **kwargs)))

        return Opening(opened())

    return call


def reopening(
    method: Callable[Concatenate[Fanin, P], Reopened],
) -> Callable[Concatenate[AsyncFanin, P], Coroutine[Any, Any, AsyncReopened]]:
    """Return *method*, which reopens items, as a coroutine function."""

    @wraps(method)
    async def call(self: AsyncFanin, /, *args: P.args, **kwargs: P.kwargs) -> AsyncReopened:
        return AsyncReopened(self, await opened_by(self.caller, lambda: method(self.sync, *args, **kwargs)))

    return call


class AsyncFanin:
    """A client for coroutines, whose requests over HTTP are on the event loop: no call takes a thread.

    Install ``fanin[async]`` for it. Without it, and over tables (``Fanin.direct``), calls run in threads.
    A cancelled call ends at once; one that opens a batch, or leaves its block, ends after its request.
    ``call`` runs any other call of the client *sync*.
    """

    Failed = Fanin.Failed

    def __init__(
        self,
        fanin: Fanin | str | None = None,
        *,
        connections: int = CONNECTIONS,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        """*fanin*: a client, or the URL of one with the options of ``Fanin``; by default the environment's.

        *connections*: to the API from an event loop, at most; more requests wait for one in turn.
        """
        if fanin is None or isinstance(fanin, str):
            fanin = Fanin(ENVIRONMENT if fanin is None else fanin, **connection)
        elif connection:
            raise InvalidRequest("options of the connection go with a URL, not with a client", field="fanin")
        self.sync = instance(fanin, Fanin, "fanin")
        self._connections = whole(connections, "connections", 1, CONNECTIONS_MAX)
        self.caller = Caller(self.sync, self._connections)

    def __reduce__(self) -> Any:
        """Return how a copy is made, which connects anew, as one of ``Fanin`` does."""
        return partial(type(self), connections=self._connections), (self.sync,)

    def __repr__(self) -> str:
        return repr(self.sync).replace(type(self.sync).__name__, type(self).__name__, 1)

    async def call(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of *call*, a method of ``sync`` or of its batches."""
        synchronous(call, "call", "await a call of AsyncFanin itself, or pass one of sync")
        return await self.caller.call(lambda: call(*args, **kwargs))

    async def aclose(self) -> None:
        """Close the connections of this event loop, which ``asyncio.run`` does at its end."""
        self.caller.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def tasks(self) -> AsyncTasks:
        """Many tasks at once, and the lists of tasks, bundles and targets. Over HTTP only."""
        return AsyncTasks(self.sync.tasks, self.caller)

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> AsyncQueue:
        """As ``Fanin.queue``: over HTTP on the event loop; with a worker, its calls run in threads."""
        return AsyncQueue(self.sync.queue(name, at, options), caller=self.caller)

    async def batch(self, name: str) -> AsyncBatch:
        """As ``Fanin.batch``."""
        return AsyncBatch(self, await self.caller.call(lambda: self.sync.batch(name)))

    open = opening(Fanin.open)
    publish_object = opening(Fanin.publish_object)
    publication = awaited(Fanin.publication)
    status = awaited(Fanin.status)
    map = awaited(Fanin.map)
    progress_token = awaited(Fanin.progress_token)
    add = awaited(Fanin.add)
    close = awaited(Fanin.close)
    cancel = awaited(Fanin.cancel)
    notify = awaited(Fanin.notify)
    end = awaited(Fanin.end)
    delete = awaited(Fanin.delete)
    delete_ended = awaited(Fanin.delete_ended)
    pairs = iterated(Fanin.pairs)
    reopen = reopening(Fanin.reopen)
    ack = awaited(Fanin.ack)
    fail = awaited(Fanin.fail)
    ack_ranges = awaited(Fanin.ack_ranges)
    fail_ranges = awaited(Fanin.fail_ranges)
    outstanding_of = awaited(Fanin.outstanding_of)
    samples = awaited(Fanin.samples)
    outstanding = iterated(Fanin.outstanding)
    failures = iterated(Fanin.failures)
    results = iterated(Fanin.results, RESULTS_AT_ONCE)
    children = iterated(Fanin.children)
    batches = iterated(Fanin.batches)
    task = awaited(Fanin.task)
    task_status = awaited(Fanin.task_status)
    queues = iterated(Fanin.queues)

    async def wait(self, batch: str, timeout: Seconds | None = None) -> Status:
        """As ``Fanin.wait``."""
        pacing = self.sync._pacing(batch, timeout)
        batch_id = await self._id_of(batch, pacing)
        poll = partial(self.caller.call, partial(self.sync._transport.poll, batch_id))
        async with aclosing(async_looks(poll, pacing)) as states:
            async for state in states:
                if state not in ALIVE:
                    break
        return await anext(async_looks(partial(self.status, batch_id), pacing))

    def watch(self, batch: str, timeout: Seconds | None = None) -> AsyncGenerator[Status, None]:
        """As ``Fanin.watch``."""
        return self._watched(batch, self.sync._pacing(batch, timeout))

    async def _watched(self, batch: str, pacing: Pacing) -> AsyncGenerator[Status, None]:
        batch_id = await self._id_of(batch, pacing)
        async with aclosing(_changes(async_looks(partial(self.status, batch_id), pacing))) as found:
            async for status in found:
                yield status

    async def _id_of(self, batch: str, pacing: Pacing) -> str:
        """Return the id of the batch *batch*, which is looked for as the batch itself is."""
        return await anext(async_looks(partial(self.caller.call, partial(self.sync._id_of, batch)), pacing))


async def _changes(found: AsyncGenerator[Status, None]) -> AsyncGenerator[Status, None]:
    """Yield each status that differs from the one before, to the end of the batch."""
    seen: Status | None = None
    async for status in found:
        if status != seen:
            yield status
        if is_ended(status):
            return
        seen = status
