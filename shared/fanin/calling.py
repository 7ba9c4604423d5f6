"""Calls of functions that a user wrote: which kinds are refused, and what can be said of their errors."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from fanin.errors import InvalidRequest

F = TypeVar("F", bound="Callable[..., Any] | None")
P = ParamSpec("P")
T = TypeVar("T")

KINDS = {
    "a coroutine function": inspect.iscoroutinefunction,
    "an async generator function": inspect.isasyncgenfunction,
    "a generator function": inspect.isgeneratorfunction,
}
INSTEAD = "take a plain function, which may run a coroutine with asyncio.Runner().run(...)"


class WorkNotDone(TypeError):
    """A function returned a coroutine or a generator in place of doing its work."""


def plain(function: F, name: str) -> F:
    """Return *function*, the argument *name*; InvalidRequest where a call of it only prepares its work."""
    if function is not None and not callable(function):
        raise InvalidRequest(f"{name} is a function, not {function!r}", field=name)
    for kind, fits in KINDS.items():
        if any(fits(each) for each in _called(function)):
            raise InvalidRequest(f"{name} is {kind}, and a call of it does no work: {INSTEAD}", field=name)
    return function


def done(result: T, name: str) -> T:
    """Return the *result* of the function *name*; WorkNotDone where it is still to be awaited or iterated."""
    pending = inspect.isawaitable(result) or isinstance(result, Future)
    if pending or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        kind = type(result).__name__
        left = "which nobody runs or waits for, so its work is not done"
        raise WorkNotDone(f"{name} returned a {kind}, {left}: {INSTEAD}")
    return result


def is_failure(error: BaseException) -> bool:
    """Return whether *error* is a failure of the work: an Exception, or the cancellation of its coroutine."""
    asyncio = sys.modules.get("asyncio")  # its import takes 0.1 s, and without it nothing can be cancelled
    return isinstance(error, Exception) or (asyncio is not None and isinstance(error, asyncio.CancelledError))


def text_of(error: BaseException) -> str:
    """Return the kind of *error* and its text, or its kind alone where the text cannot be made."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"
    except Exception:  # an error of the user's own kind, which may lack what its text is made of
        return kind


def has_text(error: BaseException) -> bool:
    """Return whether the text of *error* can be made."""
    try:
        str(error)
    except Exception:
        return False
    return True


def log_failure(
    logger: logging.Logger, line: str, *facts: object, error: BaseException, extra: Any = None
) -> None:
    """Log *error* after *line*, with its trace where its text can be made.

    The formatter of Lambda's JSON logs asks the error for its text, and what that raises passes through the
    logger to its caller.
    """
    trace = error if has_text(error) else None
    logger.error(f"{line}: %s", *facts, text_of(error), exc_info=trace, extra=extra)


class Block(AbstractContextManager[T]):
    """The context manager *inner*, and nothing else: it does not decorate functions.

    As a decorator it would leave a coroutine function's block before the function has begun.
    """

    def __init__(self, inner: AbstractContextManager[T]) -> None:
        self._inner = inner

    def __enter__(self) -> T:
        return self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._inner.__exit__(kind, error, trace)


def block(make: Callable[P, Iterator[T]]) -> Callable[P, Block[T]]:
    """Return *make* as ``contextlib.contextmanager`` does, for ``with`` alone."""
    made = contextmanager(make)

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> Block[T]:
        return Block(made(*args, **kwargs))

    return call


def _called(function: Any) -> Iterator[Any]:
    """What a call of *function* runs: itself, what a partial calls, and ``__call__`` of an object."""
    while isinstance(function, partial):
        function = function.func
    yield function
    yield getattr(type(function), "__call__", None)  # noqa: B004  # not whether: what
