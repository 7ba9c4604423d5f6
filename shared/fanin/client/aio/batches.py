"""Batches for coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Generator
from types import TracebackType
from typing import Any, Protocol, Self

from fanin.arguments import Seconds
from fanin.client.aio.calls import Caller, awaited, finished, iterated
from fanin.client.batch import Batch, Reopened, refusal_in_block
from fanin.client.model import Closed, Status
from fanin.tracker.batch_changes.reopening import ReopenItems
from fanin.types import ReopenItemsText

RESULTS_AT_ONCE = 1_000


class Calls(Protocol):
    """The calls of a client for coroutines that its batches make."""

    caller: Caller

    async def reopen(
        self, batch_id: str, /, *, items: ReopenItems | ReopenItemsText, key: str | None = None
    ) -> AsyncReopened: ...
    async def wait(self, batch: str, timeout: Seconds | None = None) -> Status: ...
    def watch(self, batch: str, timeout: Seconds | None = None) -> AsyncGenerator[Status, None]: ...
    def pairs(self, batch_id: str, /) -> AsyncGenerator[tuple[str, str], None]: ...


class AsyncBatch:
    """An opened batch for coroutines, which stands for *sync*; ``async with`` closes it as ``Batch`` does."""

    def __init__(self, fanin: Calls, sync: Batch) -> None:
        self.sync = sync
        self.caller = fanin.caller
        self._fanin = fanin
        self._task: asyncio.Task[Any] | None = None

    add = awaited(Batch.add)
    ack = awaited(Batch.ack)
    fail = awaited(Batch.fail)
    close = awaited(Batch.close)
    cancel = awaited(Batch.cancel)
    notify = awaited(Batch.notify)
    end = awaited(Batch.end)
    delete = awaited(Batch.delete)
    status = awaited(Batch.status)
    map = awaited(Batch.map)
    progress_token = awaited(Batch.progress_token)
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
        """As ``Batch.wait``; a cancellation ends it."""
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
        await finished(self.caller.call(lambda: self.sync.__exit__(kind, error, trace)))

    def _refuse_in_block(self) -> None:
        if self._task is not None and self._task is asyncio.current_task() and self.sync.is_in_block:
            raise refusal_in_block(self.id)

    def __repr__(self) -> str:
        return f"<AsyncBatch {self.id}>"


class AsyncReopened(AsyncBatch):
    """A reopened batch for coroutines, which stands for *sync*."""

    def __init__(self, fanin: Calls, sync: Reopened) -> None:
        super().__init__(fanin, sync)
        self.items, self.origin_batch_id = sync.items, sync.origin_batch_id

    def pairs(self) -> AsyncGenerator[tuple[str, str], None]:
        """As ``Reopened.pairs``."""
        return self._fanin.pairs(self.id)


class Opening(Awaitable[AsyncBatch]):
    """A batch that is being opened: await it, or enter it with ``async with``.

    *opened*: opens it; as with any coroutine, Python warns of one that was never awaited.
    """

    def __init__(self, opened: Coroutine[Any, Any, AsyncBatch]) -> None:
        self._opened = opened
        self._batch: AsyncBatch | None = None

    def __await__(self) -> Generator[Any, Any, AsyncBatch]:
        return self._opened.__await__()

    async def __aenter__(self) -> AsyncBatch:
        self._batch = await self._opened
        return await self._batch.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._batch is not None:
            await self._batch.__aexit__(kind, error, trace)
