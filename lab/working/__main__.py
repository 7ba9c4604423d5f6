"""Workers of an SQS queue side by side, each on one core: ``make workers``, two minutes.

SQS and the API are canned answers of a process on another core, after no time and after 10 ms. ``--dramatiq
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.pages.results import Table, Target, keep
from lab.working.ways import ALONE, TASKS, THREADS, TOGETHER, WAYS

LATENCIES_MS = (0, 10)
FACTOR = 1.5
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
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--dramatiq", type=Path, metavar="PYTHON")
    parser.add_argument("--print", action="store_true", dest="only_printed", help="keep no result")
    options = parser.parse_args(arguments)
    found = [measured(way, options.messages, latency) for latency in LATENCIES_MS for way in WAYS]
    if options.dramatiq:
        found.append(of_dramatiq(options.dramatiq, options.messages))
    for each in (COLUMNS, *(one.row() for one in found)):
        print(" | ".join(each))
    if not options.only_printed:
        report(found)


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
    rate, acks = stats["deleted"] / stats["seconds"], stats["requests"]["/v1/acks"]
    return Measured(way, f"{latency} ms", rate, stats["deleted"] / float(completed.stdout), f"{acks:,}")


def of_dramatiq(python: Path, messages: int) -> Measured:
    """Run dramatiq's worker over messages that a Redis on this machine has."""
    script = Path(__file__).with_name("of_dramatiq.py")
    command = [str(python), str(script), str(messages)]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    answer = json.loads(completed.stdout.splitlines()[-1])
    return Measured(DRAMATIQ, "0 ms", answer["rate"], answer["by_processor"], "none")


def report(found: Sequence[Measured]) -> None:
    """Keep the rows, what the page quotes, and the target."""
    rates = {(each.way, each.latency): each.rate for each in found}
    factors = {
        f"{name}-{latency}-ms": rates[way, f"{latency} ms"] / rates[TOGETHER, f"{latency} ms"]
        for name, way in (("threads", THREADS), ("tasks", TASKS))
        for latency in LATENCIES_MS
    }
    least = min(factors.values())
    target = Target(
        "messages a second of one process on one core, beside a loop of boto3 that acks ten at once",
        f"at least {FACTOR} times",
        f"{least:.1f} times",
        is_met=least >= FACTOR,
        reason="" if least >= FACTOR else "the machine was busy",
    )
    figures = {name: f"{factor:.1f}" for name, factor in factors.items()}
    each = rates[THREADS, "10 ms"] / rates[ALONE, "10 ms"]
    figures |= {"threads": f"{rates[THREADS, '0 ms']:,.0f}", "beside-ack-each": f"{each:.0f}"}
    tables = {"workers": Table(COLUMNS, [one.row() for one in found])}
    keep("workers", "make workers", tables, {}, figures, [target], ["boto3"])


def _environment() -> dict[str, str]:
    return {**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}


def _read(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
