"""Calls of the user's functions: the kinds that are refused, and the texts of their errors."""

from __future__ import annotations

import inspect
import logging
import sys
from collections import deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from itertools import chain, islice
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from fanin.errors import Failed, InvalidRequest

F = TypeVar("F", bound="Callable[..., Any] | None")
P = ParamSpec("P")
T = TypeVar("T")

KINDS = {
    "a coroutine function": inspect.iscoroutinefunction,
    "an async generator function": inspect.isasyncgenfunction,
    "a generator function": inspect.isgeneratorfunction,
}
INSTEAD = (
    "pass a plain function that waits for what it starts, by asyncio.run(...) or future.result(), and returns"
    " None or values"
)
UNDER_ACKS = (
    f"{INSTEAD}; or leave the decorator out: fanin.work and the command fanin work run coroutine functions"
)

LAZY = {"builtins", "itertools"}
"""Modules whose iterators do work when they are iterated."""
CONTAINERS = (list, tuple, set, frozenset, deque, KeysView, ValuesView, ItemsView)
CONTAINERS_DEEP, VALUES_A_LEVEL = 8, 10_000
ATOMS = frozenset({type(None), bool, int, float, str, bytes})
"""Types of results that hold no other value."""

_NOTED: ContextVar[list[BaseException] | None] = ContextVar("fanin_noted_failures", default=None)


class WorkNotDone(TypeError):
    """A function returned a coroutine, a future or a generator instead of doing its work."""


def synchronous(function: F, name: str, instead: str = INSTEAD) -> F:
    """Return *function*, the argument *name*.

    Raises InvalidRequest for a coroutine or generator function; *instead*: what the sentence says to do.
    """
    if function is not None and not callable(function):
        raise InvalidRequest(f"{name} is a function, not {function!r}", field=name)
    for kind, fits in KINDS.items():
        if any(fits(each) for each in _called(function)):
            raise InvalidRequest(f"{name} is {kind}, and a call of it does no work: {instead}", field=name)
    return function


def finished(result: T, name: str) -> T:
    """Return *result* of the function *name*.

    Raises WorkNotDone for an awaitable, a future, a generator, an iterator such as a ``map``, or an
    exception, also in lists, tuples, sets and dicts: eight levels of them, and the first ten thousand values
    of each level, are looked at.
    """
    if type(result) in ATOMS:
        return result
    pending = list(_pending(result))
    for each in pending:
        if inspect.iscoroutine(each):
            each.close()
    if pending:
        kind = type(pending[0]).__name__
        raise WorkNotDone(f"{name} returned a {kind}, so its work is not done when it returns: {INSTEAD}")
    return result


def _pending(result: object) -> Iterator[object]:
    """Yield what in *result* is work that may not be done."""
    level = [result]
    for _ in range(CONTAINERS_DEEP + 1):
        yield from filter(_is_pending, level)
        level = list(islice(chain.from_iterable(map(_contained, level)), VALUES_A_LEVEL))


def _contained(value: object) -> Iterable[object]:
    """Return the values in a container, of a dict its keys, too; none of any other value."""
    if isinstance(value, dict):
        return chain(value.keys(), value.values())
    return value if isinstance(value, CONTAINERS) else ()


def _is_pending(result: object) -> bool:
    """Return whether *result* stands for work that goes on elsewhere, or starts when it is iterated."""
    waits = inspect.isawaitable(result) or isinstance(result, Future) or _is_of_pool(result)
    is_lazy = isinstance(result, Iterator) and type(result).__module__ in LAZY
    return waits or is_lazy or inspect.isasyncgen(result) or isinstance(result, BaseException)


def _is_of_pool(result: object) -> bool:
    """Return whether *result* is one of ``multiprocessing.Pool``, whose import takes 0.02 s."""
    return type(result).__module__ == "multiprocessing.pool" and hasattr(result, "_job")


def is_failure(error: BaseException) -> bool:
    """Return whether *error* is a failure of the work: an Exception, or the cancellation of its coroutine."""
    asyncio = sys.modules.get("asyncio")  # its import takes 0.1 s, and without it nothing can be cancelled
    return isinstance(error, Exception) or (asyncio is not None and isinstance(error, asyncio.CancelledError))


def failed_for_good(error: BaseException) -> Failed | None:
    """Return the Failed that *error* is, or that it has in an ExceptionGroup; None if it has none."""
    if isinstance(error, ExceptionGroup):
        return next(filter(None, map(failed_for_good, error.exceptions)), None)
    return error if isinstance(error, Failed) else None


def own_text(error: BaseException) -> str:
    """Return the text of *error*, or its type if it has none or ``str(error)`` raises."""
    return (str(error) if has_text(error) else "") or type(error).__name__


def text_of(error: BaseException) -> str:
    """Return the type of *error* and its text, or the type alone if ``str(error)`` raises."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"
    except Exception:  # an error class of the user, whose __str__ may raise anything
        return kind


def has_text(error: BaseException) -> bool:
    """Return whether ``str(error)`` succeeds."""
    try:
        str(error)
    except Exception:
        return False
    return True


def log_failure(
    logger: logging.Logger, line: str, *facts: object, error: BaseException, extra: Any = None
) -> None:
    """Log *error* after *line*, with its trace unless ``str(error)`` raises.

    The formatter of Lambda's JSON logs calls ``str(error)``, and an exception in it propagates through the
    logger to its caller.
    """
    note_failure(error)
    trace = error if has_text(error) else None
    logger.error(f"{line}: %s", *facts, text_of(error), exc_info=trace, extra=extra)


def note_failure(error: BaseException) -> None:
    """Add *error* to the list of the block of ``noted_failures``, if there is one."""
    if (noted := _NOTED.get()) is not None:
        noted.append(error)


@contextmanager
def noted_failures() -> Iterator[list[BaseException]]:
    """Yield the list to which ``note_failure`` adds each error in the block.

    A consumer logs what the user's function raises, and the refusal of its acks, and goes on; a test raises
    it.
    """
    noted: list[BaseException] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


class Block(AbstractContextManager[T]):
    """The context manager *inner*, without its use as a decorator.

    A decorated coroutine function would leave the block before its body runs.
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
    """Return *make* as a context manager, like ``contextlib.contextmanager``, but not as a decorator."""
    manager = contextmanager(make)

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> Block[T]:
        return Block(manager(*args, **kwargs))

    return call


def _called(function: Any) -> Iterator[Any]:
    """Yield the functions that a call runs: *function*, that of a partial, ``__call__`` of an object."""
    while isinstance(function, partial):
        function = function.func
    yield function
    yield getattr(type(function), "__call__", None)  # noqa: B004  # the method itself
