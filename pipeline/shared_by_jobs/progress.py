"""Prints a job's events: progress, and what its stages are doing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkStageInfo
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

WATCH_SECONDS = 5.0
MOST_STAGES = 3
"""The most concurrent stages that are named."""
WORKING = {"working": "  {stages}; {seconds:.0f} s"}

Report = Callable[[str, dict[str, Any]], None]
"""Receives an event: its name and its facts."""


def event_printer(sentences: Mapping[str, str], as_json: bool) -> Report:
    """Return a Report that prints each event as its sentence, or as one JSON object per line.

    The event of `watching` has its sentence here.
    """
    known = {**WORKING, **sentences}

    def emit(event: str, facts: dict[str, Any]) -> None:
        line = json.dumps({"event": event, **facts}) if as_json else known[event].format(**facts)
        print(line, flush=True)

    return emit


def count(value: int, one: str, many: str | None = None) -> str:
    """Return *value* with its noun: 1 batch, 2 batches."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


@contextmanager
def every(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call *act* every *seconds* in a thread while the body runs."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            act()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def context_of(spark: SparkSession) -> SparkContext | None:
    """Return the context of *spark*; None over Spark Connect, whose server runs it in another process."""
    return getattr(spark, "sparkContext", None)


def is_of_this_machine(spark: SparkSession) -> bool:
    """Return whether *spark* runs in processes of this machine alone."""
    context = context_of(spark)
    return context is not None and (context.master or "").startswith("local")


class Count(Protocol):
    """A number that all tasks add to."""

    @property
    def value(self) -> int: ...

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A Count that stays 0: Spark Connect has no accumulators."""

    value: int = 0

    def add(self, term: int) -> None:
        """Ignore *term*."""


def counter(spark: SparkSession) -> Count:
    """Return a Count of the tasks of *spark*, to show progress: tasks that run again count twice."""
    context = context_of(spark)
    return Uncounted() if context is None else context.accumulator(0)


@contextmanager
def counting(spark: SparkSession, seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call *act* every *seconds* while the body runs, where tasks of *spark* add to a `counter`."""
    if context_of(spark) is None:
        yield
        return
    with every(seconds, act):
        yield


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage, and how many of its tasks are completed."""

    number: int
    tasks: int
    completed: int


Look = Callable[[], list[Stage]]
"""Returns the active stages."""


@contextmanager
def watching(spark: SparkSession, report: Report) -> Iterator[None]:
    """Report ``working`` every few seconds while the body runs: the active stages, and the time."""
    started = time.monotonic()
    most: dict[int, int] = {}
    with _looking(spark) as look:

        def emit() -> None:
            if found := look():
                seconds = round(time.monotonic() - started, 1)
                report("working", {"stages": under_way(found, most), "seconds": seconds})

        with every(WATCH_SECONDS, emit):
            yield


@contextmanager
def _looking(spark: SparkSession) -> Iterator[Look]:
    """Yield how to look at the stages of *spark*; a server of Spark Connect sends them while it answers."""
    context = context_of(spark)
    if context is not None:
        tracker = context.statusTracker()
        yield lambda: _stages(filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())))
        return
    latest: list[Stage] = []

    def take(stages: Iterable[StageInfo] | None, **_: Any) -> None:
        found = [each for each in stages or () if not each.done]
        latest[:] = [Stage(each.stage_id, each.num_tasks, each.num_completed_tasks) for each in found]

    spark.registerProgressHandler(take)
    try:
        yield lambda: list(latest)
    finally:
        spark.removeProgressHandler(take)


def _stages(found: Iterable[SparkStageInfo]) -> list[Stage]:
    return [Stage(info.stageId, info.numTasks, info.numCompletedTasks) for info in found]


def under_way(stages: Iterable[Stage], most: dict[int, int]) -> str:
    """Return the completed tasks of each of *stages*; a sum could decrease when a stage ends.

    *most*: the largest count reported per stage, which a stage that is retried does not fall below.
    """
    lines = []
    for stage in sorted(stages, key=lambda stage: stage.number):
        completed = most[stage.number] = max(most.get(stage.number, 0), stage.completed)
        lines.append(f"stage {stage.number}: {completed:,} of {count(stage.tasks, 'task')}")
    more = [f"{len(lines) - MOST_STAGES:,} more"] if len(lines) > MOST_STAGES else []
    return ", ".join(lines[:MOST_STAGES] + more)


def moving(report: Report, fact: str) -> Report:
    """Return a Report that passes on an event if *fact* changed, or after a while without a change."""
    last, reported_at = 0, time.monotonic()

    def emit(event: str, facts: dict[str, Any]) -> None:
        nonlocal last, reported_at
        now = time.monotonic()
        if facts[fact] != last or now - reported_at >= WATCH_SECONDS:
            last, reported_at = facts[fact], now
            report(event, facts)

    return emit
