"""The client for asyncio: the same calls, each in a thread; waiting takes no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing
from functools import partial, wraps
from itertools import islice
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from fanin.arguments import Seconds, instance
from fanin.client.batch import Batch, Reopened, refusal_in_block
from fanin.client.fanin import Fanin
from fanin.client.model import Closed, Status
from fanin.client.ownership.under_work import of_this_thread
from fanin.client.queues.aio import run_in
from fanin.client.waiting import async_looks, is_ended
from fanin.tracker.rules.model import ALIVE
from fanin.tracker.writing.reopening import ReopenItems
from fanin.types import ReopenItemsText

RESULTS_AT_ONCE = 1_000
P = ParamSpec("P")
S = TypeVar("S")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")
B = TypeVar("B", bound=Batch)


class Over(Protocol[C_co]):
    """What stands for a value of the client without asyncio, the *sync* one."""

    @property
    def sync(self) -> C_co: ...


async def in_thread(call: Callable[[], T]) -> T:
    """Return the result of *call*, in a thread of the event loop; see :func:`run_in`."""
    return await run_in(None, of_this_thread(call))


def awaited(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[Over[S], P], Coroutine[Any, Any, T]]:
    """Return *method* as a coroutine function with the same arguments."""

    @wraps(method)
    async def call(self: Over[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_thread(lambda: method(self.sync, *args, **kwargs))

    return call


def iterated(
    method: Callable[Concatenate[S, P], Iterator[T]], at_once: int = 1
) -> Callable[Concatenate[Over[S], P], AsyncGenerator[T, None]]:
    """Return *method*, which returns an iterator, as one that returns an async iterator.

    *at_once*: how many values are taken in one turn of a thread.
    """

    @wraps(method)
    async def call(self: Over[S], /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        values = method(self.sync, *args, **kwargs)
        while found := await in_thread(lambda: [*islice(values, at_once)]):
            for value in found:
                yield value

    return call


class AsyncBatch:
    """An opened batch for coroutines, which stands for *sync*; ``async with`` closes it as ``Batch`` does."""

    def __init__(self, fanin: AsyncFanin, sync: Batch) -> None:
        self.sync = sync
        self._fanin = fanin
        self._task: asyncio.Task[Any] | None = None

    add = awaited(Batch.add)
    close = awaited(Batch.close)
    cancel = awaited(Batch.cancel)
    notify = awaited(Batch.notify)
    end = awaited(Batch.end)
    delete = awaited(Batch.delete)
    status = awaited(Batch.status)
    map = awaited(Batch.map)
    samples = awaited(Batch.samples)
    outstanding = iterated(Batch.outstanding)
    failures = iterated(Batch.failures)
    results = iterated(Batch.results, RESULTS_AT_ONCE)
    children = iterated(Batch.children)

    @property
    def id(self) -> str:
        return self.sync.id

    @property
    def closed(self) -> Closed | None:
        """The answer of close; None before it."""
        return self.sync.closed

    async def reopen(
        self, *, items: ReopenItems | ReopenItemsText = "failed", key: str | None = None
    ) -> AsyncReopened:
        """As ``Batch.reopen``."""
        return await self._fanin.reopen(self.id, items=items, key=key)

    async def wait(self, timeout: Seconds | None = None) -> Status:
        """As ``Batch.wait``; a cancellation ends it after the request that is in progress."""
        self._refuse_in_block()
        return await self._fanin.wait(self.id, timeout)

    def watch(self, timeout: Seconds | None = None) -> AsyncGenerator[Status, None]:
        """As ``Batch.watch``."""
        self._refuse_in_block()
        return self._fanin.watch(self.id, timeout)

    async def __aenter__(self) -> Self:
        self.sync.__enter__()
        self._task = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task = None
        await in_thread(lambda: self.sync.__exit__(kind, error, trace))

    def _refuse_in_block(self) -> None:
        if self._task is not None and self._task is asyncio.current_task() and self.sync.is_in_block:
            raise refusal_in_block(self.id)

    def __repr__(self) -> str:
        return f"<AsyncBatch {self.id}>"


class AsyncReopened(AsyncBatch):
    """A reopened batch for coroutines, which stands for *sync*."""

    def __init__(self, fanin: AsyncFanin, sync: Reopened) -> None:
        super().__init__(fanin, sync)
        self.items, self.origin_batch_id = sync.items, sync.origin_batch_id

    def pairs(self) -> AsyncGenerator[tuple[str, str], None]:
        """As ``Reopened.pairs``."""
        return self._fanin.pairs(self.id)


class Opening(Awaitable[AsyncBatch]):
    """A batch that is being opened: await it, or enter it with ``async with``."""

    def __init__(self, open_batch: Callable[[], Coroutine[Any, Any, AsyncBatch]]) -> None:
        self._open = open_batch
        self._batch: AsyncBatch | None = None

    def __await__(self) -> Generator[Any, Any, AsyncBatch]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncBatch:
        self._batch = await self._open()
        return await self._batch.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._batch is not None:
            await self._batch.__aexit__(kind, error, trace)


async def opened_by(call: Callable[[], B]) -> B:
    """Return the batch that *call* opens; a cancellation leaves it as an exception in its block does."""
    batches: list[B] = []
    try:
        await in_thread(lambda: batches.append(call()))
    except asyncio.CancelledError as error:
        for batch in batches:
            await in_thread(partial(batch.abandon, error))
        raise
    return batches[0]


def opening(
    method: Callable[Concatenate[Fanin, P], Batch],
) -> Callable[Concatenate[AsyncFanin, P], Opening]:
    """Return *method*, which opens a batch, as one that returns an :class:`Opening`."""

    @wraps(method)
    def call(self: AsyncFanin, /, *args: P.args, **kwargs: P.kwargs) -> Opening:
        async def opened() -> AsyncBatch:
            return AsyncBatch(self, await opened_by(lambda: method(self.sync, *args, **kwargs)))

        return Opening(opened)

    return call


def reopening(
    method: Callable[Concatenate[Fanin, P], Reopened],
) -> Callable[Concatenate[AsyncFanin, P], Coroutine[Any, Any, AsyncReopened]]:
    """Return *method*, which reopens items, as a coroutine function."""

    @wraps(method)
    async def call(self: AsyncFanin, /, *args: P.args, **kwargs: P.kwargs) -> AsyncReopened:
        return AsyncReopened(self, await opened_by(lambda: method(self.sync, *args, **kwargs)))

    return call


class AsyncFanin:
    """A client for coroutines, which calls *sync* in threads of the event loop.

    For calls that are not here, use ``sync`` with ``asyncio.to_thread``; for queues ``AsyncQueue``.
    """

    Failed = Fanin.Failed

    def __init__(self, fanin: Fanin | str | None = None) -> None:
        """*fanin*: a client, or the URL of one; by default that of the environment."""
        given = Fanin() if fanin is None else Fanin(fanin) if isinstance(fanin, str) else fanin
        self.sync = instance(given, Fanin, "fanin")

    async def batch(self, name: str) -> AsyncBatch:
        """As ``Fanin.batch``."""
        return AsyncBatch(self, await in_thread(lambda: self.sync.batch(name)))

    open = opening(Fanin.open)
    status = awaited(Fanin.status)
    map = awaited(Fanin.map)
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
    left = awaited(Fanin.left)
    samples = awaited(Fanin.samples)
    outstanding = iterated(Fanin.outstanding)
    failures = iterated(Fanin.failures)
    results = iterated(Fanin.results, RESULTS_AT_ONCE)
    children = iterated(Fanin.children)
    batches = iterated(Fanin.batches)
    task = awaited(Fanin.task)
    task_status = awaited(Fanin.task_status)

    async def wait(self, batch_id: str, timeout: Seconds | None = None) -> Status:
        """As ``Fanin.wait``; a cancellation ends it after the request that is in progress."""
        pacing = self.sync._pacing(batch_id, timeout)
        poll = partial(in_thread, partial(self.sync._transport.poll, batch_id))
        async with aclosing(async_looks(poll, pacing)) as states:
            async for state in states:
                if state not in ALIVE:
                    break
        return await anext(async_looks(partial(self.status, batch_id), pacing))

    def watch(self, batch_id: str, timeout: Seconds | None = None) -> AsyncGenerator[Status, None]:
        """As ``Fanin.watch``."""
        return _changes(async_looks(partial(self.status, batch_id), self.sync._pacing(batch_id, timeout)))


async def _changes(found: AsyncGenerator[Status, None]) -> AsyncGenerator[Status, None]:
    """Yield each status that differs from the one before, to the end of the batch."""
    seen: Status | None = None
    async for status in found:
        if status != seen:
            yield status
        if is_ended(status):
            return
        seen = status
