"""What belongs to one process: a child that is forked starts without it.

A connection that two processes use carries the answers of one to the other; a lock that a thread of the
parent held at the fork is never released in the child; and the threads of a pool do not exist there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet

P = ParamSpec("P")
T = TypeVar("T")


class PerProcess(Generic[T]):
    """Returns what *make* made in this process: called at the first use, and again in a forked child."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[T, ...] = ()
        self._lock = threading.Lock()
        _ALL.add(self)

    def __call__(self) -> T:
        made = self._made
        if not made:
            with self._lock:
                made = self._made = self._made or (self._make(),)
        return made[0]

    def clear(self) -> None:
        """Have the next use make another."""
        self._made = ()

    def leave_to_parent(self) -> None:
        """Start anew in a forked child.

        What the parent made is kept, because closing it could wait for a lock that no thread releases.
        """
        _INHERITED.append(self._made)
        self._made, self._lock = (), threading.Lock()


_ALL: WeakSet[PerProcess[Any]] = WeakSet()
_INHERITED: list[object] = []


def cache_per_process(make: Callable[P, T]) -> Callable[P, T]:
    """Return *make* with a cache as of ``functools.cache``, which a forked child finds empty."""
    cached = PerProcess(lambda: cache(make))

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return cached()(*args, **kwargs)  # type: ignore[arg-type]

    return call


def is_forked() -> bool:
    """Whether this process was forked from one that had loaded this module."""
    return bool(_FORKS)


_FORKS: list[int] = []


def _in_child() -> None:
    _FORKS.append(os.getpid())
    for each in list(_ALL):
        each.leave_to_parent()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_in_child)
