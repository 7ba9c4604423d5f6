"""Runs a call that knows no coroutines beside one, which awaits in its place."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TypeVar

from greenlet import getcurrent, greenlet

from fanin.client.http_bodies.exchange import EXCHANGE, Exchange

T = TypeVar("T")


async def beside(call: Callable[[], T], exchange: Exchange | None) -> T:
    """Return the result of *call*, which *exchange* carries out; what it awaits is awaited here."""
    context = copy_context()
    context.run(EXCHANGE.set, exchange)
    running = greenlet(call)
    running.gr_context = context
    result = running.switch()
    while not running.dead:
        try:
            value = await result
        except BaseException:  # a cancellation, too, is raised in the call
            result = running.throw(*sys.exc_info())
        else:
            result = running.switch(value)
    returned: T = result
    return returned


def is_beside() -> bool:
    """Return whether this code runs beside a coroutine; no thread or task that it started does."""
    return getcurrent().parent is not None


def awaited_here(awaitable: Awaitable[T]) -> T:
    """Return the result of *awaitable*, for which the coroutine of the running call waits."""
    value: T = getcurrent().parent.switch(awaitable)
    return value
