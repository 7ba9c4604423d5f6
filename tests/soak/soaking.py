"""One soak: start, load with crashes, drain, read, judge."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.catalog.functions.queueing import QUEUE as QUEUE_OF_FUNCTIONS
from examples.catalog.system.running import started
from fanin import Fanin
from fanin.client.transports.http import HttpTransport
from fanin.local import LocalRun
from fanin.local.user_function.source import WorkSource, source_of
from fanin.settings.tracking import Tables
from lab.local.batch_api import BatchApi
from lab.local.grouping import configure, endings, judged, progress
from tests.http.events import Events
from tests.soak import reading, referee
from tests.soak.chaos import Chaos, host_of
from tests.soak.load.folding import Folding
from tests.soak.load.ledger import Ledger
from tests.soak.load.tracking import Consuming, Tracking, fail_dead_letter_messages, wait_until
from tests.soak.load.work import POLICY, Downstream, Grouping, ProxiedSite, Queueing
from tests.soak.memory import FUNCTION, WORKER, Sampler, drawn
from tests.soak.referee import Rule
from tests.soak.wire.client import Client
from tests.soak.wire.kinds import SHARES
from tests.soak.wire.proxy import FaultProxy
from tests.soak.wire.site import proxied, sweep, through

QUEUE = "soak-items"
VISIBILITY_SECONDS = 20
RECEIVES = 8
ATTEMPTS = 20
DRAIN_SECONDS = 420.0
EXPIRY_MARGIN_SECONDS = 30.0
CHAOS_SECONDS = 8.0
SWEEP_SECONDS = 20.0
PROGRESS_SECONDS = 20.0
SETTINGS = {"events": ["TaskSucceeded"], "results": True}
PAGE_BITS = 4
THREADS = 12
TENANT = "000000000000"
FLOWS = (
    *("direct", "direct", "messages", "nested", "direct_acks", "resulting", "enough", "cascaded"),
    *("tasks", "jobs", "jobs of functions"),
)
"""What a schedule is one of."""
# What is done, and after how many seconds again.
PACE = {
    "direct": 1.0,
    "queued": 1.5,
    "messages": 3.0,
    "nested": 6.0,
    "resulting": 4.0,
    "enough": 6.0,
    "cascaded": 8.0,
    "cancelled": 5.0,
    "overdue": 7.0,
    "orphaned": 5.0,
}


@dataclass(frozen=True)
class Report:
    """What a soak found."""

    rules: tuple[Rule, ...]
    load: Counter[str]
    chaos: Counter[str]
    memory: dict[str, str]
    minutes: float
    metrics: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Plan:
    """What a soak does: *faults* is the share of requests with a fault; *calm*: nothing is killed, frozen.

    *schedules*: so many flows, with the shares of faults of SHARES, in place of a load of *seconds*.
    """

    seconds: float
    seed: int
    calm: bool = False
    spark: bool = False
    faults: float = 0.0
    schedules: int = 0

    @property
    def shares(self) -> Sequence[float]:
        """The shares of faults, one an epoch."""
        return SHARES if self.schedules else (0.0, self.faults, 2 * self.faults)


class Soak:
    """The parts of one soak on *run*, and its threads."""

    def __init__(
        self, run: LocalRun, batch_api: BatchApi, proxy: FaultProxy, plan: Plan, folder: Path
    ) -> None:
        self.run, self.batch_api, self.proxy, self.plan, self.folder = run, batch_api, proxy, plan, folder
        self.began = time.time()
        self.ledger = Ledger()
        self.api = Client(run.url, self.repeat)
        self.source: WorkSource = source_of(run.client("sqs"), QUEUE, VISIBILITY_SECONDS, RECEIVES)
        transport = HttpTransport(run.url, pause=self.repeat, attempts=ATTEMPTS)
        transport._pool = lambda: self.api.pool  # type: ignore[method-assign, assignment, return-value]
        self.fanin = Fanin(transport)
        self.tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        self.grouping = Grouping(self.tracking("grouped"), self.api)
        site = ProxiedSite(run, "soak", proxy.url, self.api)
        self.queueing = Queueing(site, self.ledger, self.dice("jobs"), folder)
        self.chaos = Chaos(run, self.ledger, self.queueing, self.dice("chaos"))
        self.bus = Events.on(run)
        self.metrics: Counter[str] = Counter()
        self.sampler = Sampler(host_of(run), self.queueing.pids)

    def repeat(self, seconds: float) -> None:
        """Pause before a request is repeated, and count that."""
        self.ledger.repeat()
        time.sleep(seconds)

    def dice(self, name: str) -> random.Random:
        return random.Random(f"{self.plan.seed}-{name}")

    def tracking(self, name: str) -> Tracking:
        acks = self.run.outputs["AcksQueueUrl"]
        library = Fanin.direct(self.tables, TENANT, page_bits=PAGE_BITS) if self.plan.schedules else None
        return Tracking(self.fanin, self.ledger, self.source, self.dice(name), acks, library)

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
        lasting = [self.thread(*each, halt=drained) for each in self.lasting()]
        if self.plan.schedules:
            ending = []
            self.act()
        else:
            ending = [self.thread(*each, halt=over) for each in self.steps()]
            self.last()
        progress("the load is over")
        self.stop(over, ending)
        self.queueing.thaw()
        self.drain()
        progress("all has ended")
        if not self.plan.schedules:
            self.calm_down()
        self.stop(drained, lasting)
        self.queueing.end()
        self.sampler.stopped.set()

    def act(self) -> None:
        """Run the schedules, and then without faults."""
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self.schedule, range(self.plan.schedules)))
        self.calm_down()

    def calm_down(self) -> None:
        """Inject no more faults, and note how many there were."""
        self.injected, self.requests = self.proxy.injected(), self.proxy.requests
        self.proxy.calm.set()

    def schedule(self, number: int) -> None:
        """Run one flow; its number and the seed decide everything that it does."""
        tracking = self.tracking(f"schedule {number}")
        name, jobs = tracking.chance.choice(FLOWS), self.ledger.jobs
        flows: dict[str, Callable[[], None]] = {
            "tasks": replace(self.grouping, tracking=tracking).register,
            "jobs": partial(self.queueing.add_items, tracking, self.queueing.site.queue, jobs),
            "jobs of functions": partial(
                self.queueing.add_items, tracking, QUEUE_OF_FUNCTIONS, self.ledger.jobs_of_functions
            ),
        }
        try:
            (flows.get(name) or getattr(tracking, name))()
        except Exception as error:  # as in every
            self.ledger.failed_with(f"{name} {number}", error)

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
        yield PROGRESS_SECONDS, "progress", self.show_progress

    def show_progress(self) -> None:
        """Print the load so far."""
        ledger, proxy = self.ledger, self.proxy
        memory = [f"{name} {series[-1][1]:.0f} MB" for name, series in self.sampler.series.items() if series]
        progress(
            f"{time.time() - self.began:5.0f} s: {len(ledger.batches)} batches,"
            f" {len(self.bus.by_batch)} events, {len(ledger.tasks)} tasks, {ledger.jobs.total()} jobs;"
            f" {proxy.faults.total()} faults in {proxy.requests} requests,"
            f" {sum(list(ledger.chaos.values()))} disturbances, {len(ledger.errors)} errors;"
            f" {', '.join(memory)}"
        )

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
        fail_dead_letter_messages(self.tracking("dead"), self.dead)
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
        unfinished = {state: len(site.listed(state)) for state in referee.ENDED_JOBS}
        tables = {"batches": "BatchesTable", "pages": "PagesTable"}
        common = (
            referee.states(expected, reading.batches(self.api, list(expected))),
            referee.events(expected, self.bus.by_batch),
            referee.reports(ledger),
            referee.tasks(ledger.tasks, judged(self.tasks, self.batch_api), self.tasks),
            referee.jobs(ledger.jobs, site.written(), unfinished),
            referee.errors(ledger),
        )
        if self.plan.schedules:
            return (*common, *self.judged_schedules())
        rows = {name: reading.rows(self.run, output) for name, output in tables.items()}
        self.metrics = reading.metrics(self.run, self.began)
        others = reading.dead_letter_messages(self.run)
        others.pop(str(self.source.dead), None)
        return (
            *common,
            referee.dead_letter_messages(ledger.poison, {"consumers": self.dead, **others}),
            referee.rows(rows, expected, time.time()),
            referee.metrics(self.counted(), self.metrics, ledger.doubts),
            *(referee.memory(name, self.sampler.series[name]) for name in (FUNCTION, WORKER)),
            *([referee.spark(ledger)] if self.plan.spark else []),
        )

    def judged_schedules(self) -> Iterator[Rule]:
        """Yield what few enough batches are compared with: their lists, and each answer."""
        ledger, pool = self.ledger, self.api.pool
        listed = [name for name, each in ledger.batches.items() if each.failed_items is not None]
        yield referee.lists(ledger.batches, {name: reading.failures(self.api, name) for name in listed})
        with_results = [name for name, each in ledger.batches.items() if each.items_with_results]
        reads = {name: [list(self.fanin.results(name)) for _ in range(2)] for name in with_results}
        yield referee.results(ledger.batches, reads)
        outcomes = [row["pk"] for row in reading.rows(self.run, "DemoOutcomesTable")]
        written = [(key, "", 1) for key in outcomes if key in ledger.jobs_of_functions]
        yield referee.jobs(ledger.jobs_of_functions, written, Counter())
        yield referee.answers(pool.statuses.total(), pool.odd)

    def counted(self) -> Counter[str]:
        """Return what the metrics have to be."""
        ends = Counter(referee.METRIC_OF[each.state] for each in self.ledger.batches.values())
        return self.ledger.counts + ends


def started_for(plan: Plan) -> LocalRun:
    """Return a local run: of the catalog, whose functions take jobs, for schedules."""
    if plan.schedules:
        return started(page_bits=PAGE_BITS, **SETTINGS)
    return LocalRun.start(context=SETTINGS)


@contextmanager
def soaking(plan: Plan, run: LocalRun) -> Iterator[Soak]:
    """Yield a soak on *run*."""
    errors = Downstream(str(plan.seed), throttled=10, failing=10, rejected=2, slow_seconds=0.3)
    with TemporaryDirectory() as folder, BatchApi(errors) as batch_api:
        configure(run, [POLICY], batch_api)
        with (
            proxied(run, plan.seed, plan.shares) as proxy,
            through(proxy, run) if plan.schedules else nullcontext(),
        ):
            soak = Soak(run, batch_api, proxy, plan, Path(folder))
            try:
                yield soak
            finally:
                soak.queueing.end()


def soak(plan: Plan) -> Report:
    """Run one soak and return its report."""
    began = time.monotonic()
    with started_for(plan) as run, soaking(plan, run) as soak:
        soak.load()
        rules = soak.judged()
        load = Counter(each.kind for each in soak.ledger.batches.values())
        load["tasks"], load["jobs"] = len(soak.ledger.tasks), soak.ledger.jobs.total()
        series = {name: drawn(values) for name, values in soak.sampler.series.items()}
        events = soak.ledger.chaos + Counter({f"faults: {name}": n for name, n in soak.injected.items()})
    minutes, statuses = (time.monotonic() - began) / 60, soak.api.pool.statuses
    return Report(rules, load, events, series, minutes, soak.metrics, soak.requests, statuses)
