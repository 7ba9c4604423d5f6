"""A queue in this process, for the trackers that have none: it delivers at least once.

Each worker gets a delivery at a time over its standard input, and confirms it over its standard output. What
a killed worker did not confirm is delivered again, at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from subprocess import PIPE
from typing import Any, TextIO

from lab.pages.revision import ROOT
from lab.peers.driving import Case
from lab.peers.duplicates import with_duplicates

IDLE_SECONDS = 0.05


@dataclass
class Delivering:
    """The deliveries of a run, and the workers of a *kind* that take them, *size* items each."""

    kind: str
    case: Case
    log: Path
    errors: TextIO
    size: int = 1
    config: dict[str, Any] = field(default_factory=dict)
    requested: list[dict[str, float]] = field(default_factory=list)
    _ready: deque[list[int]] = field(default_factory=deque)

    def fill(self) -> None:
        """Put the items and their duplicates into the queue."""
        messages = with_duplicates(range(self.case.items), Random(self.case.seed))
        items = [item for item, _ in messages]
        self._ready.extend(items[first : first + self.size] for first in range(0, len(items), self.size))

    def start(self) -> subprocess.Popen[Any]:
        """Start a worker, and a thread that feeds it."""
        config = {"log": str(self.log), "work": self.case.work, "results": self.case.results, **self.config}
        command = [sys.executable, "-m", "lab.peers.sites.worker", self.kind, json.dumps(config)]
        process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=PIPE, stdout=PIPE, stderr=self.errors, text=True, cwd=ROOT
        )
        requested: dict[str, float] = {}
        self.requested.append(requested)
        threading.Thread(target=self._feed, args=(process, requested), daemon=True).start()
        return process

    def totals(self) -> dict[str, float]:
        """Return what all workers have requested, by kind; the last request of a killed one is not known."""
        totals: Counter[str] = Counter()
        for each in self.requested:
            totals.update(each)
        return dict(totals)

    def _feed(self, process: subprocess.Popen[Any], requested: dict[str, float]) -> None:
        while process.poll() is None:
            try:
                delivery = self._ready.popleft()
            except IndexError:
                threading.Event().wait(IDLE_SECONDS)  # a killed worker's delivery may come back
                continue
            answer = _confirmed(process, delivery)
            if answer is None:
                self._ready.append(delivery)
                return
            requested.update(answer)


def _confirmed(process: subprocess.Popen[Any], delivery: list[int]) -> dict[str, float] | None:
    """Return what the worker of *process* has requested, or None if it was killed."""
    try:
        process.stdin.write(json.dumps(delivery) + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        answer: dict[str, float] = json.loads(process.stdout.readline())  # type: ignore[union-attr]
    except (OSError, ValueError):
        return None
    return answer
