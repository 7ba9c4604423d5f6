"""What a job says while it works."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext, SparkStageInfo

from pipeline.wording import count

WATCH_SECONDS = 5.0
MOST_STAGES = 3
"""Stages that are under way together are named up to so many."""
WORKING = {"working": "  {stages}; {seconds:.0f} s"}

Report = Callable[[str, dict[str, Any]], None]
"""Told what happened: the event's name and its facts."""


def teller(sentences: Mapping[str, str], as_json: bool) -> Report:
    """Prints each event as its sentence, or as a JSON object a line for a program to read.

    What `watching` reports has its sentence here.
    """
    known = {**WORKING, **sentences}

    def tell(event: str, facts: dict[str, Any]) -> None:
        told = json.dumps({"event": event, **facts}) if as_json else known[event].format(**facts)
        print(told, flush=True)

    return tell


@contextmanager
def every(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call *act* every so many *seconds* beside the body."""
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
    """Report ``working`` every few seconds beside the body: the stages under way, and the time."""
    tracker, started = context.statusTracker(), time.monotonic()
    most: dict[int, int] = {}

    def tell() -> None:
        found = [info for at in tracker.getActiveStageIds() if (info := tracker.getStageInfo(at))]
        if found:
            seconds = round(time.monotonic() - started, 1)
            report("working", {"stages": under_way(found, most), "seconds": seconds})

    with every(WATCH_SECONDS, tell):
        yield


def under_way(stages: Iterable[SparkStageInfo], most: dict[int, int]) -> str:
    """How far each of *stages* is, by its name: a sum over stages that come and go would count backwards.

    *most*: the tasks of each that were told before; a stage that is tried again does not fall behind them.
    """
    told = []
    for stage in sorted(stages, key=lambda stage: stage.stageId):
        done = max(most.get(stage.stageId, 0), stage.numCompletedTasks)
        most[stage.stageId] = done
        told.append(f"stage {stage.stageId}: {done:,} of {count(stage.numTasks, 'task')}")
    more = [f"{len(told) - MOST_STAGES:,} more"] if len(told) > MOST_STAGES else []
    return ", ".join(told[:MOST_STAGES] + more)


def moving(report: Report, fact: str) -> Report:
    """*report*, but told only that *fact* is another than before, or that it stood still for a while."""
    last, told_at = 0, time.monotonic()

    def tell(event: str, facts: dict[str, Any]) -> None:
        nonlocal last, told_at
        now = time.monotonic()
        if facts[fact] != last or now - told_at >= WATCH_SECONDS:
            last, told_at = facts[fact], now
            report(event, facts)

    return tell
