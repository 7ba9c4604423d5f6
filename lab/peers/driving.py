"""A run of one tracker: publishes, starts workers, kills one, and waits for the end, or for nothing more."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from lab.peers.judging import END, RESULT, WORK, Line, judged, judged_results, parsed

WORKERS = 4
POLL_SECONDS = 0.02
SAMPLE_SECONDS = 1.0
SAMPLED_SHARE = 0.05
"""The part of the time of a run that its samples take at most: one reads all that is stored."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is run. *work*: seconds of each item. *kill_at*: a worker is killed when so many are done.

    *patience*: seconds without a line of the log after which no end is expected; *settle*: the same after
    the end, for a second one; *limit*: seconds of the whole run. *redelivery*: seconds after which a queue
    of a peer delivers a killed worker's item again. *results*: bytes of what each item returns, for trackers
    that hand it to the end; 0: nothing.
    """

    items: int
    seed: int = 1
    work: float = 0.0
    kill_at: int | None = None
    patience: float = 90.0
    settle: float = 2.0
    limit: float = 900.0
    redelivery: float = 20.0
    results: int = 0


class Site(Protocol):
    """A tracker, its engine and its queue."""

    def publish(self) -> None:
        """Make the items ready for the workers, with their duplicates."""

    def start(self) -> subprocess.Popen[Any]:
        """Start a worker."""

    def sample(self) -> None:
        """Look at what is stored."""

    def facts(self) -> dict[str, float]:
        """Return requests and bytes, at the end of the run."""


@dataclass
class Watch:
    """Reads the log as it grows."""

    path: Path
    lines: list[Line] = field(default_factory=list)
    worked: set[str] = field(default_factory=set)
    has_ended: bool = False
    results: int = 0
    grown_at: float = field(default_factory=time.monotonic)
    _read: int = 0

    def look(self) -> None:
        """Read what was appended."""
        with self.path.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode()
        new = parsed(text)
        self._read += text.rfind("\n") + 1
        if new:
            self.grown_at = time.monotonic()
        self.lines += new
        self.worked.update(line.name for line in new if line.kind == WORK)
        self.results += sum(line.kind == RESULT for line in new)
        self.has_ended = self.has_ended or any(line.kind == END for line in new)

    def is_over(self, case: Case) -> bool:
        """Return whether nothing more is expected."""
        quiet = time.monotonic() - self.grown_at
        is_read = not case.results or self.results >= case.items
        return quiet > (case.settle if self.has_ended and is_read else case.patience)


def run(site: Site, case: Case, log: Path) -> dict[str, Any]:
    """Return what was found: the fields of the outcome, and the facts of the site."""
    log.unlink(missing_ok=True)
    log.touch()
    started = time.monotonic()
    site.publish()
    published = time.monotonic() - started
    site.sample()
    with workers(site) as crew:
        watch = Watch(log)
        killed = _watched(site, case, watch, crew)
    outcome = judged(watch.lines, case.items)
    return {
        "items": case.items,
        "published": published,
        "killed": killed,
        **asdict(outcome),
        **(asdict(judged_results(watch.lines, case.items)) if case.results else {}),
        **site.facts(),
    }


def _watched(site: Site, case: Case, watch: Watch, crew: Crew) -> int:
    """Wait for the end of the run; return how many workers were killed."""
    deadline, killed, sample_at = time.monotonic() + case.limit, 0, time.monotonic() + SAMPLE_SECONDS
    while time.monotonic() < deadline and not watch.is_over(case):
        time.sleep(POLL_SECONDS)
        watch.look()
        if case.kill_at is not None and not killed and len(watch.worked) >= case.kill_at:
            crew.replace_one(Random(case.seed))
            killed += 1
        if (began := time.monotonic()) > sample_at:
            site.sample()
            crew.check()
            took = time.monotonic() - began
            sample_at = began + max(SAMPLE_SECONDS, took / SAMPLED_SHARE)
    site.sample()
    return killed


@dataclass
class Crew:
    """The workers of a run, all started here."""

    site: Site
    processes: list[subprocess.Popen[Any]]

    def replace_one(self, random: Random) -> None:
        """Kill a worker by SIGKILL, and start another."""
        victim = self.processes.pop(random.randrange(len(self.processes)))
        victim.kill()
        victim.wait()
        self.processes.append(self.site.start())

    def check(self) -> None:
        """Raise RuntimeError if a worker ended by itself: then the run says nothing of its tracker."""
        ended = [each.returncode for each in self.processes if each.poll() is not None]
        if ended:
            raise RuntimeError(f"a worker exited with {ended[0]}; see build/peers/workers.log")


@contextmanager
def workers(site: Site) -> Iterator[Crew]:
    """Yield the workers, which are killed at the end of the block."""
    crew = Crew(site, [])
    try:
        crew.processes += [site.start() for _ in range(WORKERS)]
        yield crew
    finally:
        for each in crew.processes:
            each.kill()
            each.wait()
