"""Calls of coroutines that run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


async def run_in(
    threads: ThreadPoolExecutor | None, call: Callable[[], T], stop: Callable[[], None] | None = None
) -> T:
    """Return the result of *call*, which runs in a thread and in the context of the caller.

    A cancellation is raised once the call has ended, so no thread is left that works.

    *threads*: None for those of the event loop. *stop*: called on a cancellation, to end the call.
    """
    running = asyncio.get_running_loop().run_in_executor(threads, copy_context().run, call)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
            if stop is not None:
                stop()
    if cancelled is not None:
        running.exception()
        raise cancelled
    return running.result()
