"""Values that belong to one process; a forked child creates its own.

Two processes that share a connection can receive each other's answers. A lock that a thread of the parent
held at the fork is never released in the child, and the threads of a pool do not exist there.
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
    """Returns the value of *make*, which is called once in each process, at the first use."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._created: tuple[T, ...] = ()
        self._inherited: tuple[T, ...] = ()
        self._lock = threading.Lock()
        _ALL.add(self)

    def __call__(self) -> T:
        created = self._created
        if not created:
            with self._lock:
                created = self._created = self._created or (self._make(),)
        return created[0]

    @property
    def is_created(self) -> bool:
        """Whether this process has the value."""
        return bool(self._created)

    @property
    def inherited(self) -> tuple[T, ...]:
        """The values that the ancestors of a forked child had at their forks; none in any other process."""
        return self._inherited

    def clear(self) -> None:
        """Call *make* again at the next use."""
        self._created = ()

    def leave_to_parent(self) -> None:
        """Drop the parent's value in a forked child.

        The value is kept referenced, because closing it could wait for a lock that no thread releases.
        """
        _INHERITED.append(self._created)
        self._inherited += self._created
        self._created, self._lock = (), threading.Lock()


_ALL: WeakSet[PerProcess[Any]] = WeakSet()
_INHERITED: list[object] = []


def cache_per_process(make: Callable[P, T]) -> Callable[P, T]:
    """Return *make* with a ``functools.cache``, which is empty in a forked child."""
    cached = PerProcess(lambda: cache(make))

    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return cached()(*args, **kwargs)  # type: ignore[arg-type]

    return call


def is_forked() -> bool:
    """Return whether this process was forked after this module was loaded."""
    return bool(_FORKS)


def forget() -> None:
    """Let this process pass for a new one, whose parent made no value."""
    _FORKS.clear()


_FORKS: list[int] = []


def _in_child() -> None:
    _FORKS.append(os.getpid())
    for each in list(_ALL):
        each.leave_to_parent()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_in_child)
