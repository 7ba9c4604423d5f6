"""Prints a job's events: progress, and what its stages are doing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext, SparkStageInfo

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


@contextmanager
def watching(context: SparkContext, report: Report) -> Iterator[None]:
    """Report ``working`` every few seconds while the body runs: the active stages, and the time."""
    tracker, started = context.statusTracker(), time.monotonic()
    most: dict[int, int] = {}

    def emit() -> None:
        found = [info for at in tracker.getActiveStageIds() if (info := tracker.getStageInfo(at))]
        if found:
            seconds = round(time.monotonic() - started, 1)
            report("working", {"stages": under_way(found, most), "seconds": seconds})

    with every(WATCH_SECONDS, emit):
        yield


def under_way(stages: Iterable[SparkStageInfo], most: dict[int, int]) -> str:
    """Return the completed tasks of each of *stages*; a sum could decrease when a stage ends.

    *most*: the largest count reported per stage, which a stage that is retried does not fall below.
    """
    lines = []
    for stage in sorted(stages, key=lambda stage: stage.stageId):
        completed = max(most.get(stage.stageId, 0), stage.numCompletedTasks)
        most[stage.stageId] = completed
        lines.append(f"stage {stage.stageId}: {completed:,} of {count(stage.numTasks, 'task')}")
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
