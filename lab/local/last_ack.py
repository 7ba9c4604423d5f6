"""From the last ack to its event in a queue on the bus, with and without immediate events.

``make last-ack`` starts two local runs, one with ``immediate_events`` and one without, and completes batches
in turns, so that all ways meet the same machine: over HTTP on each run, and by the library on the tables, of
whose puts 5 % fail. ``ARGS="--batches 20 --print"`` completes fewer, and keeps no result.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from fanin import Fanin
from fanin.aws.messaging.bus import Bus, Event
from fanin.client.transports.direct import DirectTransport
from fanin.completion_events.announcer import Announcer
from fanin.errors import StoreUnavailable
from fanin.local import LocalRun
from fanin.local.emulator_process.connection import ACCOUNT
from fanin.settings.tracking import Tables
from fanin.tracker import Batch, Tracker
from fanin.tracker.announcing import announcing
from fanin.tracker.dynamodb import DynamoStore
from lab.local.races import Api
from lab.local.subscriber import Subscriber
from lab.pages.results import Table, Target, keep

ITEMS = 8
WARM = 5
FAILING = 0.05
TARGET_MS = 50
QUIET_SECONDS = 5.0
"""After the last completion, for duplicates that are on their way."""
STREAM, AT_ONCE, FAULTY = "stream", "at once", "at once, 5 % of the puts fail"
CLIENT = """
import time
from fanin.aws import clients
clients.dynamodb()
began = time.process_time()
clients.announcements()
print(time.process_time() - began)
"""
COLUMNS = (
    "way",
    *(f"from the answer, p{each}" for each in (50, 90, 99)),
    *(f"from the request, p{each}" for each in (50, 90)),
    "the last ack, p50",
    "an ack before it, p50",
    "duplicates",
)


@dataclass(frozen=True)
class Completion:
    """One completed batch: how long its last ack and one before it took, and when the last was answered."""

    batch: str
    before: float
    took: float
    answered: float


@dataclass(frozen=True)
class Way:
    """A way to complete batches: *ack* acks one item, *api* opens them, *subscriber* gets the events."""

    api: Api
    subscriber: Subscriber
    ack: Callable[[str], Any]

    def complete(self) -> Completion:
        """Open, close and ack a batch, and wait for its event."""
        batch, items = self.api.opened(ITEMS)
        self.api.close(batch)
        self.api.ack(*items[:-2])
        before, _ = self._timed(items[-2])
        took, answered = self._timed(items[-1])
        self.subscriber.first(batch)
        return Completion(batch, before, took, answered)

    def _timed(self, item: str) -> tuple[float, float]:
        """Ack an item; return how long it took, and when it was answered."""
        sent = time.time()
        self.ack(item)
        answered = time.time()
        return answered - sent, answered


class Worker:
    """The library on the tables of a run, of whose puts some fail at random, before they have an effect.

    ``puts``, ``whole``: seconds of each put that succeeded, and of each of them with its confirmation.
    """

    def __init__(self, run: LocalRun) -> None:
        self.random = random.Random(1)
        self.puts: list[float] = []
        self.whole: list[float] = []
        self.bus = Bus(run.client("events"), run.outputs["BusName"], attempts=1)
        tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        store = DynamoStore(run.client("dynamodb"), tables)
        self.announcer = Announcer(store, self._put)
        self.fanin = Fanin(DirectTransport(Tracker(announcing(store, self._announce)), ACCOUNT))

    def ack(self, item: str) -> None:
        self.fanin.ack([item])

    def _announce(self, batch: Batch) -> None:
        began, puts = time.perf_counter(), len(self.puts)
        self.announcer(batch)
        if len(self.puts) > puts:
            self.whole.append(time.perf_counter() - began)

    def _put(self, events: Sequence[Event]) -> None:
        if self.random.random() < FAILING:
            raise StoreUnavailable("a fault of the benchmark")
        began = time.perf_counter()
        self.bus.put(events)
        self.puts.append(time.perf_counter() - began)


@contextmanager
def ways() -> Iterator[tuple[dict[str, Way], Worker]]:
    """Start two runs, and yield the ways by name, and the worker of the last one."""
    with ExitStack() as stack:
        runs = [stack.enter_context(LocalRun.start(context={"immediate_events": on})) for on in (False, True)]
        subscribers = [stack.enter_context(Subscriber(run)) for run in runs]
        apis = [Api(run.url) for run in runs]
        worker = Worker(runs[1])
        found = {
            STREAM: Way(apis[0], subscribers[0], apis[0].ack),
            AT_ONCE: Way(apis[1], subscribers[1], apis[1].ack),
            FAULTY: Way(apis[1], subscribers[1], worker.ack),
        }
        yield found, worker


def client_seconds() -> float:
    """Return the CPU seconds of making the client for EventBridge, in a process that has one for DynamoDB."""
    env = {**os.environ, "AWS_DEFAULT_REGION": "us-east-1"}
    completed = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", CLIENT], env=env, capture_output=True, text=True, check=True
    )
    return float(completed.stdout)


def quantiles(seconds: Sequence[float]) -> tuple[float, ...]:
    """Return the median, the 90th and the 99th percentile, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return tuple(cuts[at - 1] * 1000 for at in (50, 90, 99))


def row(name: str, way: Way, completions: Sequence[Completion]) -> tuple[str, ...]:
    """Return the row of a way: the delays of its events, its acks, and its duplicates."""
    arrived = way.subscriber.arrived
    delays = [arrived[each.batch][0] - each.answered for each in completions]
    whole = [delay + each.took for delay, each in zip(delays, completions, strict=True)]
    copies = sum(len(arrived[each.batch]) - 1 for each in completions)
    acks = [
        quantiles([each.took for each in completions])[0],
        quantiles([each.before for each in completions])[0],
    ]
    shown = [f"{value:.0f} ms" for value in (*quantiles(delays), *quantiles(whole)[:2], *acks)]
    return (name, *shown, f"{copies} of {len(completions)}")


def measured(batches: int) -> tuple[list[tuple[str, ...]], list[tuple[str, str]]]:
    """Complete so many batches by each way, in turns; return the rows, and those of the parts of a put."""
    with ways() as (found, worker):
        completions: dict[str, list[Completion]] = {name: [] for name in found}
        for number in range(batches + WARM):
            for name, way in found.items():
                one = way.complete()
                completions[name] += [one] if number >= WARM else []
        time.sleep(QUIET_SECONDS)
        parts = [
            (name, f"{quantiles(seconds[WARM:])[0]:.1f} ms")
            for name, seconds in (("PutEvents", worker.puts), ("with the confirmation", worker.whole))
        ]
        return [row(name, way, completions[name]) for name, way in found.items()], parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--print", action="store_true", dest="only_printed", help="keep no result")
    options = parser.parse_args()
    rows, parts = measured(options.batches)
    for each in (COLUMNS, *rows, *parts):
        print(" | ".join(each))
    if not options.only_printed:
        report(rows, parts)


def report(rows: Sequence[tuple[str, ...]], parts: Sequence[tuple[str, str]]) -> None:
    """Keep the rows, the figures of the page and the target."""
    by_name = {each[0]: each for each in rows}
    stream, at_once = by_name[STREAM], by_name[AT_ONCE]
    median = float(at_once[4].removesuffix(" ms"))
    target = Target(
        "the last ack's request to its event, median",
        f"under {TARGET_MS} ms",
        at_once[4],
        is_met=median < TARGET_MS,
        reason="" if median < TARGET_MS else "the machine was busy",
    )
    figures = {
        "stream": stream[1],
        "at once": at_once[1],
        "request": at_once[4],
        "ack": at_once[6],
        "ack before": at_once[7],
        "duplicates": at_once[8],
        "client": f"{client_seconds() * 1000:.0f} ms",
        **dict(parts),
    }
    names = {name.replace(" ", "-"): value for name, value in figures.items()}
    tables = {"delays": Table(COLUMNS, rows), "parts": Table(("part of the answer", "p50"), parts)}
    keep("last_ack", "make last-ack", tables, {}, names, [target], ["ministack", "boto3"])


if __name__ == "__main__":
    main()
