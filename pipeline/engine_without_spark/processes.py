"""Runs tasks in processes of this machine, with the attempts that Spark gives a task."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from fanin.errors import FaninError
from pipeline.engine_without_spark.arrow import without_pandas
from pipeline.shared_by_jobs.errors import TASK_ATTEMPTS, TaskFailed
from pipeline.shared_by_jobs.progress import every

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
Outcome = tuple[T, R | Exception]


class Count:
    """A number that the tasks of one process add to."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, term: int) -> None:
        """Add *term*."""
        self.value += term


class SharedCount:
    """A number that the tasks of several processes add to."""

    def __init__(self, context: BaseContext) -> None:
        self._held = context.Value("q", 0)

    @property
    def value(self) -> int:
        """Return the number."""
        return int(self._held.value)

    def add(self, term: int) -> None:
        """Add *term*."""
        with self._held.get_lock():
            self._held.value += term


@dataclass(frozen=True, slots=True)
class Clock:
    """Calls *tick* every *seconds* while tasks run."""

    seconds: float
    tick: Callable[[], None]


class Processes:
    """Runs tasks in *number* processes; a *number* of 1 is this process.

    *may_fork*: whether a forked child is safe by what the caller did, as far as it knows. S3's client of
    Arrow has threads that a child lacks.
    """

    def __init__(self, number: int, may_fork: bool = True) -> None:
        self.number = number
        self._context = _context(may_fork)

    def count(self) -> Count | SharedCount:
        """Return a new number that tasks may add to."""
        return Count() if self.number == 1 else SharedCount(self._context)

    def run(self, work: Callable[[T, S], R], tasks: Sequence[T], shared: S, clock: Clock) -> Iterator[R]:
        """Yield what *work* returns for each task, with *shared*, in the order of the tasks' ends.

        A task that fails is run again after the others. Raises its error if that is about the input, else
        TaskFailed after its last attempt.
        """
        remaining, last = list(tasks), None
        for _ in range(TASK_ATTEMPTS):
            failed: list[T] = []
            for task, outcome in self._round(work, remaining, shared, clock):
                if isinstance(outcome, FaninError | ValueError):
                    raise outcome
                if isinstance(outcome, Exception):
                    failed, last = [*failed, task], outcome
                else:
                    yield outcome
            remaining = failed
            if not remaining:
                return
        raise TaskFailed(str(last)) from last

    def _round(
        self, work: Callable[[T, S], R], tasks: Sequence[T], shared: S, clock: Clock
    ) -> Iterator[Outcome[T, R]]:
        if self.number == 1:
            with every(clock.seconds, clock.tick):
                for task in tasks:
                    yield task, _outcome(lambda task=task: work(task, shared))  # type: ignore[misc]
            return
        _preload(self._context, work)
        pool = ProcessPoolExecutor(self.number, self._context, _begin, (shared, dict(os.environ)))
        try:
            yield from _as_they_end({pool.submit(_call, work, task): task for task in tasks}, clock)
        finally:
            pool.shutdown(cancel_futures=True)


def _as_they_end(running: dict[Future[R], T], clock: Clock) -> Iterator[Outcome[T, R]]:
    ticked = time.monotonic()
    while running:
        ended, _ = wait(running, clock.seconds, FIRST_COMPLETED)
        if time.monotonic() - ticked >= clock.seconds:
            clock.tick()
            ticked = time.monotonic()
        for future in ended:
            yield running.pop(future), _outcome(future.result)


def _outcome(call: Callable[[], R]) -> R | Exception:
    try:
        return call()
    except Exception as error:  # the caller decides whether to try again
        return error


def _context(may_fork: bool) -> BaseContext:
    """Return how processes start: as forks, which is fastest, if nothing here has another thread."""
    methods = multiprocessing.get_all_start_methods()
    if may_fork and sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def _preload(context: BaseContext, work: Callable[..., object]) -> None:
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([work.__module__])


_SHARED: list[Any] = []


def _begin(shared: object, environment: Mapping[str, str]) -> None:
    """Keep what the tasks share, and end with the parent: it may be killed.

    *environment*: of the parent; a fork server has that of its own start, maybe with other credentials.
    """
    os.environ.update(environment)
    without_pandas()
    _SHARED[:] = [shared]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(work: Callable[[T, Any], R], task: T) -> R:
    return work(task, _SHARED[0])
