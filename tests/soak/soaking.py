"""One soak: start, load with crashes, drain, read, judge."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fanin import Fanin
from fanin.client.transports.http import HttpTransport
from fanin.local import LocalRun
from fanin.local.work.source import WorkSource, source_of
from lab.local.batch_api import BatchApi
from lab.local.grouping import configure, endings, judged, progress
from tests.http.events import Events
from tests.soak import reading, referee
from tests.soak.chaos import Chaos, host_of
from tests.soak.load.folding import Folding
from tests.soak.load.ledger import Ledger
from tests.soak.load.tracking import Consuming, Tracking, fail_dead_letters, wait_until
from tests.soak.load.work import POLICY, Downstream, Grouping, ProxiedSite, Queueing
from tests.soak.memory import FUNCTION, WORKER, Sampler, drawn
from tests.soak.progress_lines import ProgressLines
from tests.soak.referee import Rule
from tests.soak.wire.client import Client
from tests.soak.wire.proxy import FaultProxy
from tests.soak.wire.site import proxied, sweep

QUEUE = "soak-items"
VISIBILITY_SECONDS = 20
RECEIVES = 8
ATTEMPTS = 8
DRAIN_SECONDS = 420.0
EXPIRY_MARGIN_SECONDS = 30.0
CHAOS_SECONDS = 8.0
SWEEP_SECONDS = 20.0
SETTINGS = {"events": ["TaskSucceeded"]}
# What is done, and after how many seconds again.
PACE = {"direct": 1.0, "queued": 1.5, "nested": 6.0, "cancelled": 5.0, "overdue": 7.0, "orphaned": 5.0}


@dataclass(frozen=True)
class Report:
    """What a soak found."""

    rules: tuple[Rule, ...]
    load: Counter[str]
    chaos: Counter[str]
    memory: dict[str, str]
    minutes: float
    metrics: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Plan:
    """What a soak does: *faults* is the share of requests with a fault; *calm*: nothing is killed, frozen."""

    seconds: float
    seed: int
    calm: bool = False
    spark: bool = False
    faults: float = 0.0


class Soak:
    """The parts of one soak on *run*, and its threads."""

    def __init__(
        self, run: LocalRun, batch_api: BatchApi, proxy: FaultProxy, plan: Plan, folder: Path
    ) -> None:
        self.run, self.batch_api, self.proxy, self.plan, self.folder = run, batch_api, proxy, plan, folder
        self.began = time.time()
        self.ledger = Ledger()
        self.api = Client(run.url, self.repeat)
        self.halt = threading.Event()
        self.source: WorkSource = source_of(run.client("sqs"), QUEUE, VISIBILITY_SECONDS, RECEIVES)
        self.fanin = Fanin(HttpTransport(run.url, pause=self.repeat, attempts=ATTEMPTS))
        self.grouping = Grouping(self.tracking("grouped"), self.api)
        site = ProxiedSite(run, "soak", proxy.url, self.api)
        self.queueing = Queueing(site, self.ledger, self.dice("jobs"), folder)
        self.chaos = Chaos(run, self.ledger, self.queueing, self.dice("chaos"))
        self.bus = Events.on(run)
        self.sampler = Sampler(host_of(run), self.queueing.pids)

    def repeat(self, seconds: float) -> None:
        """Pause before a request is repeated, and count that."""
        self.ledger.repeat()
        time.sleep(seconds)

    def dice(self, name: str) -> random.Random:
        return random.Random(f"{self.plan.seed}-{name}")

    def tracking(self, name: str) -> Tracking:
        return Tracking(self.fanin, self.ledger, self.source, self.dice(name))

    def every(self, seconds: float, name: str, step: Callable[[], object], halt: threading.Event) -> None:
        """Do *step* until *halt*, at most once in so many seconds; an error is kept for the referee."""
        chance = self.dice(f"pace-{name}")
        while not halt.is_set():
            try:
                step()
            except Exception as error:  # any error of any part of the load is one that a user meets
                self.ledger.failed_with(name, error)
                halt.wait(1)
            halt.wait(seconds * chance.uniform(0.5, 1.5))

    def load(self) -> None:
        """Run all of the load for its time, then wait for what it began."""
        over, drained = threading.Event(), threading.Event()
        progress(f"the local run is up: {self.plan.seconds:.0f} s of load")
        self.queueing.hire()
        self.sampler.start()
        shown = ProgressLines(
            self.ledger, self.sampler, self.proxy, lambda: len(self.bus.by_batch), progress
        ).start()
        ending = [self.thread(*each, halt=over) for each in self.steps()]
        lasting = [self.thread(*each, halt=drained) for each in self.lasting()]
        self.last()
        progress("the load is over")
        self.stop(over, ending)
        self.queueing.thaw()
        self.drain()
        progress("all has ended")
        self.proxy.calm.set()
        self.stop(drained, lasting)
        self.queueing.end()
        self.sampler.stopped.set()
        shown.set()

    def last(self) -> None:
        """Wait for the end of the load; a third of it passes before the Spark jobs."""
        until = time.monotonic() + self.plan.seconds
        time.sleep(self.plan.seconds / 3)
        if self.plan.spark:
            self.spark()
        time.sleep(max(0.0, until - time.monotonic()))

    def stop(self, halt: threading.Event, threads: list[threading.Thread]) -> None:
        halt.set()
        for thread in threads:
            thread.join(120)

    def spark(self) -> None:
        try:
            seen = Folding(self.run, self.tracking("spark"), self.folder, not self.plan.calm).round()
            self.ledger.happened(f"Spark round: {seen}")
        except (Exception, SystemExit) as error:  # as in every
            self.ledger.failed_with("spark", error)

    def thread(
        self, seconds: float, name: str, step: Callable[[], object], halt: threading.Event
    ) -> threading.Thread:
        thread = threading.Thread(target=self.every, args=(seconds, name, step, halt), daemon=True)
        thread.start()
        return thread

    def steps(self) -> Iterator[tuple[float, str, Callable[[], object]]]:
        """Yield what ends with the load."""
        for name, seconds in PACE.items():
            yield seconds, name, getattr(self.tracking(name), name)
        yield 4.0, "tasks", self.grouping.register
        yield 2.0, "jobs", self.queueing.add
        if not self.plan.calm:
            yield CHAOS_SECONDS, "chaos", self.chaos.happen

    def lasting(self) -> Iterator[tuple[float, str, Callable[[], object]]]:
        """Yield what goes on until everything has ended."""
        for number in range(2):
            chance = self.dice(f"consumer-{number}")
            consumer = Consuming(self.fanin, self.ledger, self.source, chance)
            yield 0.1, f"consumer {number}", consumer.deliver
        yield 2.0, "workers", self.queueing.hire
        yield SWEEP_SECONDS, "sweep", partial(sweep, self.run)
        yield 0.2, "events", partial(self.bus._receive, 1)

    def drain(self) -> None:
        """Wait for the ends of all that was begun; fail the items of the dead-letter messages."""
        dead = self.run.client("sqs").get_queue_url(QueueName=self.source.dead)["QueueUrl"]
        found: dict[str, str] = {}

        def poisoned() -> bool:
            found.update(reading.messages(self.run, dead))
            return self.ledger.poison <= set(found.values())

        wait_until(poisoned, DRAIN_SECONDS)
        progress(f"{len(found)} of {len(self.ledger.poison)} poisonous messages are dead")
        self.dead = sorted(found.values())
        fail_dead_letters(self.tracking("dead"), self.dead)
        self.tasks = endings(self.api, list(self.ledger.tasks))
        for name, task in self.tasks.items():
            if task.get("state") != "SUCCEEDED" and (batch := self.grouping.items.get(name)):
                self.ledger.batches[batch].failed += 1
        progress("the tasks have ended")
        wait_until(self.is_over, DRAIN_SECONDS)
        time.sleep(5)

    def is_over(self) -> bool:
        """Return whether each batch has ended, each event has come, and each job was done."""
        live = [each for each in self.ledger.batches if each not in self.bus.by_batch]
        jobs = sum(times for _, _, times in self.queueing.site.written())
        return not live and jobs >= self.ledger.jobs.total()

    def judged(self) -> tuple[Rule, ...]:
        """Read what came of the load, and judge it."""
        ledger, expected = self.ledger, self.ledger.batches
        site = self.queueing.site
        left = {state: len(site.listed(state)) for state in referee.ENDED_JOBS}
        tables = {"batches": "BatchesTable", "pages": "PagesTable"}
        rows = {name: reading.rows(self.run, output) for name, output in tables.items()}
        self.metrics = reading.metrics(self.run, self.began)
        others = reading.dead_letters(self.run)
        others.pop(str(self.source.dead), None)
        return (
            referee.states(expected, reading.batches(self.api, list(expected))),
            referee.events(expected, self.bus.by_batch),
            referee.reports(ledger),
            referee.tasks(ledger.tasks, judged(self.tasks, self.batch_api), self.tasks),
            referee.jobs(ledger.jobs, site.written(), left),
            referee.dead_letters(ledger.poison, {"consumers": self.dead, **others}),
            referee.rows(rows, expected, time.time()),
            referee.metrics(self.counted(), self.metrics, ledger.doubts),
            *(referee.memory(name, self.sampler.series[name]) for name in (FUNCTION, WORKER)),
            *([referee.spark(ledger)] if self.plan.spark else []),
            referee.errors(ledger),
        )

    def counted(self) -> Counter[str]:
        """Return what the metrics have to be."""
        ends = Counter(referee.METRIC_OF[each.state] for each in self.ledger.batches.values())
        return self.ledger.counts + ends


@contextmanager
def soaking(plan: Plan) -> Iterator[Soak]:
    """Yield a soak on a local run of its own."""
    errors = Downstream(str(plan.seed), throttled=10, failing=10, rejected=2, slow_seconds=0.3)
    with (
        TemporaryDirectory() as folder,
        BatchApi(errors) as batch_api,
        LocalRun.start(context=SETTINGS) as run,
    ):
        configure(run, [POLICY], batch_api)
        with proxied(run, plan.seed, (0.0, plan.faults, 2 * plan.faults)) as proxy:
            soak = Soak(run, batch_api, proxy, plan, Path(folder))
            try:
                yield soak
            finally:
                soak.queueing.end()


def soak(plan: Plan) -> Report:
    """Run one soak and return its report."""
    began = time.monotonic()
    with soaking(plan) as soak:
        soak.load()
        rules = soak.judged()
        load = Counter(each.kind for each in soak.ledger.batches.values())
        load["tasks"], load["jobs"] = len(soak.ledger.tasks), soak.ledger.jobs.total()
        series = {name: drawn(values) for name, values in soak.sampler.series.items()}
        done = soak.ledger.chaos + Counter(
            {f"faults: {name}": n for name, n in soak.proxy.injected().items()}
        )
    return Report(rules, load, done, series, (time.monotonic() - began) / 60, soak.metrics)
