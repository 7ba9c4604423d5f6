"""The work on a record as steps, which a thread takes one after the other, or a task of asyncio awaits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """A call whose result, or exception, the steps continue with.

    *is_work*: it calls the user's function, which may be a coroutine function; else it sends a request.
    """

    call: Callable[[], object]
    is_work: bool = False


Steps = Generator[Step, Any, T]
"""Calls to make in order; their end has the result."""


def take(steps: Steps[T]) -> T:
    """Take *steps* in this thread, and return their result."""
    try:
        step = next(steps)
        while True:
            try:
                answer = step.call()
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def take_in_task(steps: Steps[T]) -> T:
    """Take *steps* in a task of asyncio: await the user's function, and send requests in a thread."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await _answer(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def _answer(step: Step) -> object:
    from asyncio import to_thread  # noqa: PLC0415  # its import takes 0.1 s

    if not step.is_work:
        return await to_thread(step.call)
    return await step.call()  # type: ignore[misc]
