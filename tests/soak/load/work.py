"""Load on the group-batcher and on a work queue."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any
from uuid import uuid4

from examples.catalog.system.batch_api import SUCCESS_STATUS, Request, Ruling
from fanin.local import LocalRun
from lab.local.batch_api import ServiceErrors
from lab.local.jobs import Site, WorkerProcess, started
from tests.soak.load.ledger import Ledger
from tests.soak.load.tracking import Tracking
from tests.soak.wire.client import Client
from tests.soak.wire.site import ENDPOINT

TARGETS = 3
TASKS = 20
JOBS = 25
KEYS = 400
WORKERS = 2
POLICY = {
    "pattern": "*",
    "lingerSeconds": 2,
    "maxDelaySeconds": 8,
    "maxSize": 10,
    "rate": 10,
    "burst": 10,
    "maxAttempts": 12,
}


@dataclass(frozen=True, slots=True)
class Downstream(ServiceErrors):
    """A batch API that knows a bundle by its idempotency key, and answers it a second time as the first."""

    rulings: dict[str, Ruling] = field(default_factory=dict)

    def judge(self, request: Request) -> Ruling:
        known = self.rulings.get(request.bundle)
        if known is not None:
            return replace(known, again=True)
        ruling = ServiceErrors.judge(self, request)
        return self.rulings.setdefault(request.bundle, ruling) if ruling.status == SUCCESS_STATUS else ruling


@dataclass
class Grouping:
    """Registers tasks, some of which act for the items of a batch."""

    tracking: Tracking
    api: Client
    items: dict[str, str] = field(default_factory=dict)
    """Tasks, and the batches of their items."""

    def register(self) -> None:
        """Register tasks for the items of a new batch, and as many without."""
        ledger, chance = self.tracking.ledger, self.tracking.chance
        batch = self.tracking.open("grouped")
        items = self.tracking.filled(batch, chance.randint(1, TASKS))
        self.tracking.close(batch)
        wanted: list[dict[str, Any]] = [
            {"taskId": f"soak-{uuid4()}", "target": f"target-{chance.randrange(TARGETS)}", "payload": {}}
            for _ in range(2 * len(items))
        ]
        for task, item in zip(wanted, items, strict=False):
            task["itemId"] = item
            self.items[task["taskId"]] = batch
        for at in range(0, len(wanted), 100):
            part = wanted[at : at + 100]
            ledger.tasks.update({task["taskId"]: task["target"] for task in part})
            with ledger.doubting("TasksRegistered", len(part)):
                self.stored(part)
            ledger.count("TasksRegistered", len(part))

    def stored(self, tasks: list[dict[str, Any]]) -> None:
        """Register *tasks* in one request, and those again that were not stored."""
        for _ in range(20):
            results = self.api.post("/v1/tasks", {"tasks": tasks})["results"]
            tasks = [task for task, result in zip(tasks, results, strict=True) if "problem" in result]
            if not tasks:
                return
            self.tracking.ledger.doubt("TasksRegistered", len(tasks))
        raise AssertionError(f"{len(tasks)} tasks were not registered in 20 requests: {results}")


class ProxiedSite(Site):
    """A queue whose worker processes, and whose *api*, meet the faults of the run."""

    def __init__(self, run: LocalRun, queue: str, endpoint: str, api: Client) -> None:
        super().__init__(run, queue)
        self.endpoint, self.api = endpoint, api

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, ENDPOINT: self.endpoint}


@dataclass
class Queueing:
    """Adds jobs with keys that repeat, and has workers that crash and freeze."""

    site: Site
    ledger: Ledger
    chance: random.Random
    folder: Path
    staff: list[WorkerProcess] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)
    frozen: list[WorkerProcess] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hire(self) -> None:
        """Start workers in place of those that ended, as a service manager does."""
        with self.lock:
            ended = [worker for worker in self.staff if worker.process.poll() is not None]
            for worker in ended:
                self.staff.remove(worker)
                self.ledger.worker_ended(last_line(worker.log.with_suffix(".err")))
            while len(self.staff) < WORKERS:
                log = self.folder / f"{next(self.numbers)}.log"
                errors = log.with_suffix(".err")
                self.staff.append(started(self.site, log, "--renew", errors=errors))

    def pids(self) -> list[int]:
        with self.lock:
            return [worker.process.pid for worker in self.staff]

    def add(self) -> None:
        """Add jobs; a key that is live is refused, and one that is done is a new job."""
        keys = sorted({f"job-{self.chance.randrange(KEYS)}" for _ in range(JOBS)})
        with self.ledger.doubting("JobsAdded", len(keys)):
            answer = self.site.add(keys)
        self.ledger.accepted_jobs(answer["added"])
        self.ledger.count("JobsAdded", len(answer["added"]))

    def add_items(self, tracking: Tracking, queue: str, accepted: Counter[str]) -> None:
        """Add the items of a new batch as jobs of *queue*."""
        batch = tracking.open(f"jobs of {queue}")
        items = tracking.filled(batch, tracking.chance.randint(1, 3))
        jobs = [{"key": f"{batch}-{n}", "itemId": item} for n, item in enumerate(items)]
        accepted.update(self.site.api.post(f"/v1/queues/{queue}/jobs", {"jobs": jobs})["added"])
        tracking.close(batch)

    def kill(self) -> None:
        """Kill a worker at whatever it does; another is hired."""
        with self.lock:
            victim = self.staff.pop(self.chance.randrange(len(self.staff)))
            victim.send(SIGKILL)
            victim.process.wait()
        self.ledger.happened("workers killed")
        self.hire()

    def freeze(self) -> None:
        """Freeze a worker until the next is frozen, mostly longer than its session lasts."""
        self.thaw()
        with self.lock:
            victim = self.chance.choice(self.staff)
            victim.send(SIGSTOP)
            self.frozen.append(victim)
        self.ledger.happened("workers frozen")

    def thaw(self) -> None:
        while self.frozen:
            thawed = self.frozen.pop()
            if thawed.process.poll() is None:
                thawed.send(SIGCONT)

    def end(self) -> None:
        self.thaw()
        for worker in self.staff:
            worker.end()


def last_line(path: Path) -> str:
    """Return the last line of a file: of a traceback, the error."""
    lines = path.read_text().strip().splitlines()
    return lines[-1] if lines else "nothing on standard error"
