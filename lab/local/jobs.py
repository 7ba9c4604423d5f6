"""Kills and freezes workers of a work queue on the local run, and checks that each job is acked exactly once.

``python -m lab.local.jobs`` adds 2,000 jobs over HTTP, 10 % of them with a repeated key, while 4 worker
processes take them; it kills one with SIGKILL, and then freezes another past its expiry. It prints the
outcomes, the requests of a waiting take and its delay after an add, and exits with 1 if a guarantee fails.
``--jobs``, ``--workers`` and ``--seed`` change the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fanin.aws.dynamodb.meter import Meter
from fanin.client.queues.creating import ClientCreator
from fanin.client.transports.http import HttpTransport
from fanin.local import LocalRun
from fanin.queue import Options, Queue, QueueContext, QueueKey
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.keys import job_key
from fanin.queue.sqs import SqsDoorbell
from fanin.settings.jobs import JobSettings
from lab.local.job_worker import outcome
from lab.local.races import Api

TENANT = "000000000000"
EXPIRY_SECONDS = 5.0
TAKEOVER_SECONDS = EXPIRY_SECONDS + 2
FROZEN_SECONDS = EXPIRY_SECONDS + 2
WAKE_SECONDS = 1.0
WAIT_SECONDS = 20
WAKES = 5
IDLE_SECONDS = 3.0
COLLISIONS = 0.1
JOBS_A_REQUEST = 50
PRODUCERS = 2
PATIENCE_SECONDS = 600.0

Json = dict[str, Any]


@dataclass
class Site:
    """A queue on a local run, and a table for outcomes."""

    run: LocalRun
    queue: str
    outcomes: str = field(init=False)

    def __post_init__(self) -> None:
        self.api = Api(self.run.url)
        self.dynamodb = self.run.client("dynamodb")
        self.outcomes = f"Outcomes-{self.queue}"
        self.dynamodb.create_table(
            TableName=self.outcomes,
            KeySchema=[
                {"AttributeName": "key", "KeyType": "HASH"},
                {"AttributeName": "job", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in ("key", "job")],
            BillingMode="PAY_PER_REQUEST",
        )

    @property
    def store(self) -> DynamoStore:
        return DynamoStore(self.dynamodb, self.run.outputs["QueueTable"])

    @property
    def key(self) -> QueueKey:
        return QueueKey(TENANT, self.queue)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a worker process."""
        return {**os.environ, **self.run.environment}

    def add(self, keys: Sequence[str]) -> Json:
        jobs = [{"key": key, "payload": key} for key in keys]
        return self.api.post(f"/v1/queues/{self.queue}/jobs", {"jobs": jobs})

    def written(self) -> list[tuple[str, str, int]]:
        """Return the outcomes: key, job, and how often it was written."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.outcomes, ConsistentRead=True)
        rows = (row for page in pages for row in page["Items"])
        return [(row["key"]["S"], row["job"]["S"], int(row["times"]["N"])) for row in rows]

    def listed(self, state: str) -> list[Json]:
        answer = self.api.pool.request("GET", f"{self.api.url}/v1/queues/{self.queue}/jobs?state={state}")
        found: list[Json] = json.loads(answer.data)["jobs"]
        return found


@dataclass
class WorkerProcess:
    """A worker process, and the log of its events."""

    process: subprocess.Popen[str]
    log: Path

    def lines(self) -> list[Json]:
        text = self.log.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def holding(self) -> list[Json]:
        """Return the logged takes without a logged end."""
        lines = self.lines()
        over = {line["claim"] for line in lines if line["event"] != "took"}
        return [line for line in lines if line["event"] == "took" and line["claim"] not in over]

    def send(self, signal_: signal.Signals) -> None:
        self.process.send_signal(signal_)

    def stop_with_jobs(self) -> list[Json]:
        """Freeze the process while it holds jobs, and return them."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self.send(signal.SIGSTOP)
            held = self.holding()
            if len(held) > 1:
                return held
            self.send(signal.SIGCONT)
            time.sleep(0.02)
        raise TimeoutError("the worker never held two jobs")

    def end(self) -> None:
        if self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.process.terminate()
        self.process.wait(timeout=60)


@contextmanager
def working(site: Site, count: int) -> Iterator[list[WorkerProcess]]:
    """Yield *count* worker processes, which end with the block."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        workers = []
        for number in range(count):
            workers.append(started(site, Path(folder) / f"{number}.log"))
            stack.callback(workers[-1].end)
        yield workers


def started(site: Site, log: Path, *options: str, errors: Path | None = None) -> WorkerProcess:
    """Start a worker process that logs to *log*, and its standard error to *errors*, with these *options*."""
    command = [sys.executable, "-m", "lab.local.job_worker", "--url", site.run.url]
    command += ["--queue", site.queue, "--outcomes", site.outcomes, "--expiry", str(EXPIRY_SECONDS), *options]
    with log.open("w") as output, errors.open("w") if errors else nullcontext() as stderr:
        process = subprocess.Popen(  # noqa: S603  # our own module
            command, env=site.environment, stdout=output, stderr=stderr, text=True
        )
    return WorkerProcess(process, log)


def keys_of(count: int, seed: int) -> list[str]:
    """Return the keys of *count* adds; one in ten repeats a recent one."""
    chance = random.Random(seed)
    keys: list[str] = []
    for number in range(count):
        again = keys and chance.random() < COLLISIONS
        keys.append(chance.choice(keys[-JOBS_A_REQUEST:]) if again else f"job-{number}")
    return keys


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run. *odd*: keys without exactly one outcome for each accepted add; both counts."""

    accepted: int
    rejected: int
    odd: dict[str, tuple[int, int]]
    unfinished: dict[str, int]
    takeovers: list[float]
    refused_acks: int
    late_acks: int
    seconds: float

    @property
    def is_good(self) -> bool:
        taken = bool(self.takeovers) and max(self.takeovers) <= TAKEOVER_SECONDS
        held = self.refused_acks > 0 and self.late_acks == 0
        return not self.odd and not any(self.unfinished.values()) and taken and held and self.rejected > 0

    def __str__(self) -> str:
        slowest = max(self.takeovers, default=float("nan"))
        return (
            f"{self.accepted} jobs accepted, {self.rejected} refused as not distinct, in {self.seconds:.0f} s"
            f" ({self.accepted / self.seconds:.0f} jobs/s); left: {self.unfinished}\n"
            f"keys whose outcomes are not one for each accepted job: {len(self.odd)} {self.odd or ''}\n"
            f"killed: {len(self.takeovers)} jobs run elsewhere, the last {slowest:.1f} s after the kill\n"
            f"frozen: {self.refused_acks} acks refused (LostClaim), {self.late_acks} went through"
        )


def failures(site: Site, jobs: int, workers: int, seed: int = 1) -> Outcome:
    """Add, kill one worker, add, freeze another, wait until all jobs are done, and count.

    The second worker freezes before the session of the first has expired, so it can own the parts of the jobs
    that the first one held.
    """
    requests = _requests(keys_of(jobs, seed))
    with working(site, workers) as staff, ThreadPoolExecutor(PRODUCERS) as producers:
        _wait_for(lambda: len(site.store.members(site.key)) == workers)  # all of them watch the killed one
        began = time.monotonic()
        half = len(requests) // 2
        adding = producers.map(site.add, requests[:half])
        killed_at, orphans = _kill(staff[0])
        adding_more = producers.map(site.add, requests[half:])
        frozen = _freeze(staff[1])
        answers = [*adding, *adding_more]
        accepted = Counter(key for answer in answers for key in answer["added"])
        _wait_for(lambda: len(site.written()) >= accepted.total())
        seconds, written = time.monotonic() - began, site.written()
        _wait_for(lambda: len(_refused(staff[1], frozen)) == len(frozen))
        return Outcome(
            accepted=accepted.total(),
            rejected=sum(len(answer["rejected"]) for answer in answers),
            odd=_odd(accepted, written),
            unfinished=_unfinished(site),
            takeovers=_takeovers(staff, orphans, killed_at),
            refused_acks=len(_refused(staff[1], frozen)),
            late_acks=_late_acks(site, frozen),
            seconds=seconds,
        )


def _unfinished(site: Site) -> dict[str, int]:
    return {state: len(site.listed(state)) for state in ("queued", "inProgress", "delayed", "dead")}


def _requests(keys: list[str]) -> list[list[str]]:
    return [keys[first : first + JOBS_A_REQUEST] for first in range(0, len(keys), JOBS_A_REQUEST)]


def _kill(worker: WorkerProcess) -> tuple[float, list[Json]]:
    orphans = worker.stop_with_jobs()
    killed_at = time.monotonic()
    worker.send(signal.SIGKILL)
    worker.process.wait()
    return killed_at, orphans


def _freeze(worker: WorkerProcess) -> list[Json]:
    """Freeze a worker until others have its jobs, continue it, and return the claims that it lost."""
    held = worker.stop_with_jobs()
    time.sleep(FROZEN_SECONDS)
    worker.send(signal.SIGCONT)
    return held[1:]  # the ack of the first can have been under way


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("the jobs were not done in time")
        time.sleep(0.5)


def _odd(accepted: Counter[str], written: list[tuple[str, str, int]]) -> dict[str, tuple[int, int]]:
    """Return the keys whose outcomes differ from the accepted adds, or with a job that has two outcomes."""
    outcomes: Counter[str] = Counter()
    for key, _, times in written:
        outcomes[key] += times
    jobs = Counter(key for key, _, _ in written)
    keys = accepted.keys() | outcomes.keys()
    return {
        key: (accepted[key], outcomes[key]) for key in keys if not accepted[key] == outcomes[key] == jobs[key]
    }


def _takeovers(staff: list[WorkerProcess], orphans: list[Json], killed_at: float) -> list[float]:
    """Return the seconds from the kill to the next take of each job that the dead worker held.

    A job that was not taken again was acked by the dead worker just before its log line was written.
    """
    takes: dict[str, list[float]] = {}
    for line in (line for worker in staff for line in worker.lines()):
        if line["event"] == "took" and line["at"] > killed_at:
            takes.setdefault(line["id"], []).append(line["at"])
    return [min(takes[orphan["id"]]) - killed_at for orphan in orphans if orphan["id"] in takes]


def _refused(worker: WorkerProcess, claims: list[Json]) -> list[Json]:
    lost = {line["claim"] for line in worker.lines() if line["event"] == "lost"}
    return [claim for claim in claims if claim["claim"] in lost]


def _late_acks(site: Site, claims: list[Json]) -> int:
    """Return how many acks under old claims the table accepts."""
    parts = Options().parts
    before = sum(times for _, _, times in site.written())
    for old in claims:
        stored = site.store.get(job_key(site.key, parts, old["key"]))
        if stored is not None:
            late = replace(stored, claim=old["claim"])
            write = outcome(site.outcomes, old["key"], old["id"], "late")
            site.store.end(late, stored.ready_us, [write])
    return sum(times for _, _, times in site.written()) - before


@dataclass(frozen=True)
class Waiting:
    """The cost of a waiting take: requests while it is idle, and seconds from an add to its end.

    *kept_requests*: requests a second of the session's duties, its heartbeat and its watch over the others.
    """

    idle_requests: int
    kept_requests: float
    wakes: list[float]

    @property
    def is_good(self) -> bool:
        return self.idle_requests == 0 and max(self.wakes) < WAKE_SECONDS

    def __str__(self) -> str:
        return (
            f"waiting: {self.idle_requests} requests to the table in {IDLE_SECONDS:.0f} s of an idle take"
            f" (the session's own duties: {self.kept_requests:.1f} a second)\n"
            f"woken after an add: {statistics.median(self.wakes):.2f} s (median),"
            f" {max(self.wakes):.2f} s (most)"
        )


def waiting(site: Site) -> Waiting:
    """Count the requests of an idle take, and time takes that wait for a job."""
    alone = consumer_of(site, duties=False)
    idle = _requests_of_an_idle_take(alone)
    kept = consumer_of(site, duties=True)
    with alone, kept, ThreadPoolExecutor(1) as producer:
        kept_requests = _requests_of_an_idle_take(kept) / IDLE_SECONDS
        wakes = [wake_seconds(site, alone, producer, f"wake-{number}") for number in range(WAKES)]
    return Waiting(round(idle), kept_requests, wakes)


def consumer_of(site: Site, *, duties: bool) -> Queue:
    """Return a consumer with its own client; without *duties* it has no heartbeat and no maintenance."""
    store = DynamoStore(site.run.client("dynamodb"), site.store.table)
    doorbell = SqsDoorbell(site.run.client("sqs"), None, site.key)
    creator = ClientCreator(
        store, HttpTransport(site.run.url), JobSettings(table=site.store.table, tenant=site.key.tenant)
    )
    # Without duties there is no heartbeat, so the session has to last without one.
    options = Options(expiry=EXPIRY_SECONDS if duties else 120.0)
    context = QueueContext(store, doorbell, site.key, options, creator=creator)
    return Queue(context) if duties else Queue(context, background=lambda _: lambda: None)


def _requests_of_an_idle_take(queue: Queue) -> float:
    """Return the requests to the table of an idle take, without its reads at the beginning and the end."""
    with queue.take(1, wait=0):
        pass  # the session is stored now
    assert isinstance(queue.context.store, DynamoStore)
    meter = Meter().attach(queue.context.store.client)
    with queue.take(1, wait=0):
        look = meter.take("requests")
    with queue.take(1, wait=IDLE_SECONDS):
        return meter.take("requests") - 2 * look


def wake_seconds(site: Site, queue: Queue, producer: ThreadPoolExecutor, key: str) -> float:
    """Return the seconds from the answer to an add to the end of the take that waited for it."""

    def add() -> float:
        time.sleep(0.5)
        site.add([key])
        return time.monotonic()

    added = producer.submit(add)
    with queue.take(1, wait=WAIT_SECONDS) as jobs:
        woken = time.monotonic()
        assert [job.name for job in jobs] == [key]
    return max(0.0, woken - added.result())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    with LocalRun.start(progress=lambda step: print(step, file=sys.stderr)) as run:
        waited = waiting(Site(run, "idle"))
        print(waited, flush=True)
        outcome = failures(Site(run, "failures"), given.jobs, given.workers, given.seed)
        print(outcome)
    return 0 if waited.is_good and outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
