"""One run of schedules: flows of all capabilities under faults and crashes, drained, read and judged."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.catalog.functions.queueing import QUEUE as QUEUE_OF_FUNCTIONS
from examples.catalog.system.running import started
from fanin import Fanin
from fanin.aws.settings.tracking import Tables
from fanin.client.transports.http import HttpTransport
from fanin.local import LocalRun
from lab.local.batch_api import BatchApi
from lab.local.grouping import configure, endings, judged, progress
from tests.http.events import Events
from tests.soak import reading, referee
from tests.soak.chaos import Chaos
from tests.soak.load.ledger import Ledger
from tests.soak.load.tracking import Tracking, wait_until
from tests.soak.load.work import POLICY, Downstream, Grouping, ProxiedSite, Queueing
from tests.soak.referee import Rule
from tests.soak.wire.client import Client
from tests.soak.wire.proxy import FaultProxy
from tests.soak.wire.site import proxied, sweep, through

ATTEMPTS = 20
DRAIN_SECONDS = 420.0
CHAOS_SECONDS = 8.0
SWEEP_SECONDS = 20.0
SETTINGS = {"events": ["TaskSucceeded"]}
PAGE_BITS = 4
THREADS = 12
TENANT = "000000000000"
FLOWS = (
    *("direct", "direct", "messages", "nested", "cancelled", "direct_acks"),
    *("tasks", "jobs", "jobs of functions"),
)
"""What a schedule is one of."""


@dataclass(frozen=True)
class Report:
    """What a run found. *faults*: by kind; *chaos*: crashes; *statuses*: of the answers."""

    rules: tuple[Rule, ...]
    load: Counter[str]
    chaos: Counter[str]
    faults: Counter[str]
    requests: int
    statuses: Counter[int]


@dataclass(frozen=True)
class Plan:
    """So many *schedules*, drawn from *seed*; *crashes*: functions and workers are killed and frozen."""

    schedules: int
    seed: int
    crashes: bool = False


class Soak:
    """The parts of one run of schedules on *run*, and its threads."""

    def __init__(
        self, run: LocalRun, batch_api: BatchApi, proxy: FaultProxy, plan: Plan, folder: Path
    ) -> None:
        self.run, self.batch_api, self.proxy, self.plan = run, batch_api, proxy, plan
        self.ledger = Ledger()
        self.api = Client(run.url)
        transport = HttpTransport(run.url, attempts=ATTEMPTS)
        transport._pool = lambda: self.api.pool  # type: ignore[method-assign, assignment, return-value]
        self.fanin = Fanin(transport)
        tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        self.library = Fanin.direct(tables, TENANT, page_bits=PAGE_BITS)
        self.grouping = Grouping(self.tracking("grouped"), self.api)
        site = ProxiedSite(run, "soak", proxy.url, self.api)
        self.queueing = Queueing(site, self.ledger, self.dice("jobs"), folder)
        self.chaos = Chaos(run, self.ledger, self.queueing, self.dice("chaos"))
        self.bus = Events.on(run)
        self.halt = threading.Event()

    def dice(self, name: str) -> random.Random:
        return random.Random(f"{self.plan.seed}-{name}")

    def tracking(self, name: str) -> Tracking:
        acks, sqs = self.run.outputs["AcksQueueUrl"], self.run.client("sqs")
        return Tracking(self.fanin, self.ledger, sqs, self.dice(name), acks, self.library)

    def load(self) -> None:
        """Run all schedules under faults, and wait for what they began without them."""
        progress(f"the local run is up: {self.plan.schedules} schedules")
        self.queueing.hire()
        lasting = [self.thread(*each) for each in self.lasting()]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self.schedule, range(self.plan.schedules)))
        self.injected, self.requests = self.proxy.injected(), self.proxy.requests
        self.proxy.calm.set()
        self.queueing.thaw()
        self.drain()
        progress("all has ended")
        self.halt.set()
        for thread in lasting:
            thread.join(120)
        self.queueing.end()

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
        except Exception as error:  # any error of any part of the load is one that a user meets
            self.ledger.failed_with(f"{name} {number}", error)

    def lasting(self) -> Iterator[tuple[float, str, Callable[[], object]]]:
        """Yield what goes on until everything has ended."""
        yield 2.0, "workers", self.queueing.hire
        yield SWEEP_SECONDS, "sweep", partial(sweep, self.run)
        yield 0.2, "events", partial(self.bus._receive, 1)
        if self.plan.crashes:
            yield CHAOS_SECONDS, "chaos", self.disturb

    def disturb(self) -> None:
        """Let a process crash, for as long as there are faults."""
        if not self.proxy.calm.is_set():
            self.chaos.happen()

    def thread(self, seconds: float, name: str, step: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=self.every, args=(seconds, name, step), daemon=True)
        thread.start()
        return thread

    def every(self, seconds: float, name: str, step: Callable[[], object]) -> None:
        """Do *step* until the end, at most once in so many seconds; an error is kept for the referee."""
        chance = self.dice(f"pace-{name}")
        while not self.halt.is_set():
            try:
                step()
            except Exception as error:  # as in schedule
                self.ledger.failed_with(name, error)
                self.halt.wait(1)
            self.halt.wait(seconds * chance.uniform(0.5, 1.5))

    def drain(self) -> None:
        """Wait for the ends of all that was begun."""
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
        """Read what came of the schedules, and judge it."""
        ledger, expected, pool = self.ledger, self.ledger.batches, self.api.pool
        site = self.queueing.site
        left = {state: len(site.listed(state)) for state in referee.ENDED_JOBS}
        listed = [name for name, each in expected.items() if each.failed_items is not None]
        outcomes = reading.keys(self.run, "DemoOutcomesTable")
        of_functions = [(key, "", 1) for key in outcomes if key in ledger.jobs_of_functions]
        return (
            referee.states(expected, reading.batches(self.api, list(expected))),
            referee.events(expected, self.bus.by_batch),
            referee.reports(ledger),
            referee.tasks(ledger.tasks, judged(self.tasks, self.batch_api), self.tasks),
            referee.jobs(ledger.jobs, site.written(), left),
            referee.errors(ledger),
            referee.lists(expected, {name: reading.failures(self.api, name) for name in listed}),
            referee.jobs(ledger.jobs_of_functions, of_functions, Counter()),
            referee.answers(pool.statuses.total(), pool.odd),
        )


@contextmanager
def soaking(plan: Plan, run: LocalRun) -> Iterator[Soak]:
    """Yield the schedules of *plan* on *run*, which has the functions of the catalog."""
    errors = Downstream(str(plan.seed), throttled=10, failing=10, rejected=2, slow_seconds=0.3)
    with TemporaryDirectory() as folder, BatchApi(errors) as batch_api:
        configure(run, [POLICY], batch_api)
        with proxied(run, plan.seed) as proxy, through(proxy, run):
            soak = Soak(run, batch_api, proxy, plan, Path(folder))
            try:
                yield soak
            finally:
                soak.queueing.end()


def soak(plan: Plan) -> Report:
    """Run schedules on a local run of their own, and return the report."""
    with started(page_bits=PAGE_BITS, **SETTINGS) as run, soaking(plan, run) as soak:
        soak.load()
        rules = soak.judged()
        load = Counter(each.kind for each in soak.ledger.batches.values())
        load["tasks"], load["jobs"] = len(soak.ledger.tasks), soak.ledger.jobs.total()
        statuses = soak.api.pool.statuses
        return Report(rules, load, soak.ledger.chaos, soak.injected, soak.requests, statuses)
