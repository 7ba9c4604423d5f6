"""Runs a Spark job as a process, and measures the process and its descendants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROC = Path("/proc")
LOOK_SECONDS = 0.5
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job that succeeded: its last event of each name; *cpu* in seconds, *peak* in bytes."""

    events: Mapping[str, dict[str, Any]]
    seconds: float
    cpu: float
    peak: int

    def summary(self, rows: int) -> str:
        """Return the speed for so many *rows*, the start of Spark included, and the peak of memory."""
        rate = rows / self.seconds / (os.cpu_count() or 1)
        return (
            f"{self.seconds:.1f} s, {rate:,.0f} rows/s a core, {self.cpu:.0f} CPU s,"
            f" {self.peak / 2**30:.1f} GiB at most"
        )


@dataclass(slots=True)
class _Watch:
    """Measures a process and its descendants until *over* is set; without /proc it measures nothing."""

    root: int
    over: threading.Event = field(default_factory=threading.Event)
    peak: int = 0
    ticks: dict[int, int] = field(default_factory=dict)

    def look_on(self) -> None:
        while not self.over.wait(LOOK_SECONDS):
            held = 0
            for process, (ticks, pages) in _tree(self.root):
                self.ticks[process] = ticks
                held += pages * PAGE_BYTES
            self.peak = max(self.peak, held)


def run(
    job: str, arguments: Sequence[str], environment: Mapping[str, str], accept: Sequence[int] = (0,)
) -> JobRun:
    """Run ``pipeline.jobs.<job>`` to its end; SystemExit where its status is not in *accept*."""
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603  # our own module
        [sys.executable, "-m", f"pipeline.jobs.{job}", *arguments, "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    watch = _Watch(process.pid)
    thread = threading.Thread(target=watch.look_on, daemon=True)
    thread.start()
    try:
        output, _ = process.communicate()
    finally:
        process.kill()
        watch.over.set()
        thread.join()
    if process.returncode not in accept:
        raise SystemExit(f"{job} ended with {process.returncode}")
    events = {event["event"]: event for event in map(json.loads, output.splitlines())}
    return JobRun(events, time.monotonic() - started, sum(watch.ticks.values()) / TICKS, watch.peak)


def _tree(root: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Return *root* and its descendants, each with its CPU ticks and resident pages."""
    found = {int(path.name): facts for path in PROC.glob("[0-9]*") if (facts := _facts(path))}
    below = {root}
    for _ in range(len(found)):
        grown = below | {process for process, (parent, _) in found.items() if parent in below}
        if grown == below:
            break
        below = grown
    return ((process, found[process][1]) for process in below if process in found)


def _facts(path: Path) -> tuple[int, tuple[int, int]] | None:
    """Return a process's parent, CPU ticks and resident pages; None if it has ended."""
    try:
        # The name, in brackets, may hold anything.
        fields = (path / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]), (int(fields[11]) + int(fields[12]), int(fields[21]))
    except (OSError, IndexError, ValueError):
        return None
