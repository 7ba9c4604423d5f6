"""What a job says while it works."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext

WATCH_SECONDS = 5.0

Report = Callable[[str, dict[str, Any]], None]
"""Told what happened: the event's name and its facts."""


def teller(sentences: Mapping[str, str], as_json: bool) -> Report:
    """Prints each event as its sentence, or as a JSON object a line for a program to read."""

    def tell(event: str, facts: dict[str, Any]) -> None:
        told = json.dumps({"event": event, **facts}) if as_json else sentences[event].format(**facts)
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
    """Report ``working`` every few seconds beside the body: the tasks that are done, of those under way."""
    tracker, started = context.statusTracker(), time.monotonic()

    def tell() -> None:
        stages = [info for at in tracker.getActiveStageIds() if (info := tracker.getStageInfo(at))]
        done, tasks = sum(info.numCompletedTasks for info in stages), sum(info.numTasks for info in stages)
        if tasks:
            report("working", {"done": done, "tasks": tasks, "seconds": round(time.monotonic() - started, 1)})

    with every(WATCH_SECONDS, tell):
        yield
