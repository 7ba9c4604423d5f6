"""Workers of an SQS queue side by side, each on one core: ``make workers``, five minutes.

SQS and the API are canned answers of a process on another core, after no time and after 10 ms. The ways take
turns, and of each the median of its rounds counts. ``--dramatiq
PYTHON`` adds dramatiq's Redis worker, from an environment with ``dramatiq[redis]`` and a ``redis-server``; it
knows no batch, so it acks nothing to fanin.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from lab.pages.results import Table, Target, keep
from lab.working.ways import ALONE, NO_ACK, TASKS, THREADS, TOGETHER, WAYS

LATENCIES_MS = (0, 10)
LATENCIES = [f"{latency} ms" for latency in LATENCIES_MS]
FACTOR = 1.5
ROUNDS = 3
FEWER = 5
"""Of a loop, which is slower and starts nothing, so many times fewer messages are enough."""
COLUMNS = ("worker", "latency of a request", "messages a second", "a second of processor time", "acks")
DRAMATIQ = "dramatiq 2.2.1 on Redis"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a way did: messages a second by the clock and of processor time, and ack requests."""

    way: str
    latency: str
    rate: float
    by_processor: float
    acks: str

    def row(self) -> tuple[str, ...]:
        return self.way, self.latency, f"{self.rate:,.0f}", f"{self.by_processor:,.0f}", self.acks


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--dramatiq", type=Path, metavar="PYTHON")
    parser.add_argument("--print", action="store_true", dest="only_printed", help="keep no result")
    options = parser.parse_args(arguments)
    found = medians(
        [
            measured(way, options.messages // (1 if way in (THREADS, TASKS) else FEWER), latency)
            for _ in range(options.rounds)
            for latency in LATENCIES_MS
            for way in WAYS
        ]
    )
    if options.dramatiq:
        found.append(of_dramatiq(options.dramatiq, options.messages))
    for each in (COLUMNS, *(one.row() for one in found)):
        print(" | ".join(each))
    if not options.only_printed:
        report(found)


def medians(found: Sequence[Measured]) -> list[Measured]:
    """Return of each way and latency the median of its rounds."""
    rounds: dict[tuple[str, str], list[Measured]] = {}
    for each in found:
        rounds.setdefault((each.way, each.latency), []).append(each)
    return [
        replace(
            of_way[0],
            rate=median(each.rate for each in of_way),
            by_processor=median(each.by_processor for each in of_way),
        )
        for of_way in sorted(rounds.values(), key=lambda of_way: LATENCIES.index(of_way[0].latency))
    ]


def measured(way: str, messages: int, latency: int) -> Measured:
    """Run a way in a process of its own, and ask the canned site how long it took."""
    command = [sys.executable, "-m", "lab.working.canned", str(messages), str(latency)]
    site = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert site.stdout is not None
        url = f"http://127.0.0.1:{site.stdout.readline().strip()}"
        worker = [sys.executable, "-m", "lab.working.ways", way, url, str(messages)]
        completed = subprocess.run(worker, check=True, capture_output=True, text=True, env=_environment())  # noqa: S603
        stats = _read(f"{url}/stats")
    finally:
        site.kill()
        site.wait()
    rate, acks = stats["deleted"] / stats["seconds"], stats["requests"].get("/v1/acks", 0)
    return Measured(way, f"{latency} ms", rate, stats["deleted"] / float(completed.stdout), f"{acks:,}")


def of_dramatiq(python: Path, messages: int) -> Measured:
    """Run dramatiq's worker over messages that a Redis on this machine has."""
    script = Path(__file__).with_name("of_dramatiq.py")
    command = [str(python), str(script), str(messages)]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    answer = json.loads(completed.stdout.splitlines()[-1])
    return Measured(DRAMATIQ, "0 ms", answer["rate"], answer["by_processor"], "none")


def report(found: Sequence[Measured]) -> None:
    """Keep the rows, what the page quotes, and the targets."""
    by_clock, by_processor = factors(found, "rate"), factors(found, "by_processor")
    alone = factors(found, "by_processor", ALONE)
    bound = _of(found, NO_ACK, "0 ms").by_processor / _of(found, TOGETHER, "0 ms").by_processor
    figures = {"bound": f"{bound:.2f}"}
    for name, values in (("clock", by_clock), ("processor", by_processor), ("each", alone)):
        figures |= {f"{name}-least": f"{min(values):.1f}", f"{name}-most": f"{max(values):.1f}"}
    reasons = ("the machine was busy", f"boto3's receives and deletes alone allow {bound:.2f} times")
    targets = [
        Target(
            f"messages a second of {what} of one process, beside a loop of boto3 that acks ten at once",
            f"at least {FACTOR} times",
            f"{min(values):.1f} times",
            is_met=min(values) >= FACTOR,
            reason="" if min(values) >= FACTOR else reason,
        )
        for what, values, reason in zip(
            ("the clock", "processor time"), (by_clock, by_processor), reasons, strict=True
        )
    ]
    tables = {"workers": Table(COLUMNS, [one.row() for one in found])}
    keep("workers", "make workers", tables, {}, figures, targets, ["boto3"])


def factors(found: Sequence[Measured], rate: str, loop: str = TOGETHER) -> list[float]:
    """Return how many times the *rate* of a loop the worker has, in threads and in tasks."""
    return [
        getattr(_of(found, way, latency), rate) / getattr(_of(found, loop, latency), rate)
        for way in (THREADS, TASKS)
        for latency in LATENCIES
    ]


def _of(found: Sequence[Measured], way: str, latency: str) -> Measured:
    return next(each for each in found if (each.way, each.latency) == (way, latency))


def _environment() -> dict[str, str]:
    return {**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}


def _read(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
