"""Spark beside the load: fan_out opens a batch, bulk_ack folds an ack log, reconcile lists what is left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from fanin.local import LocalRun
from lab.pipeline import measured_job
from tests.soak.load.ledger import Expected
from tests.soak.load.tracking import Tracking

KIND = "folded"
ITEMS = 3000
MEMORY_MB = 3000
"""Free memory without which the jobs are left out."""
SOME_REJECTED = 3
Event = dict[str, Any]


def free_mb() -> int:
    """Return the memory that is available, in MB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))


@dataclass(frozen=True)
class Log:
    """An ack log of some of *items*, with copies and rows of no batch; the rest is *outstanding*."""

    items: Sequence[str]
    acked: Sequence[str]
    failed: Sequence[str]

    @property
    def outstanding(self) -> list[str]:
        return sorted(set(self.items) - set(self.acked) - set(self.failed))

    def lines(self) -> Iterator[str]:
        for item in (*self.acked, *self.acked[:100]):
            yield json.dumps({"item_id": item})
        for item in self.failed:
            yield json.dumps({"item_id": item, "outcome": "failure", "reason": "soak"})
        yield json.dumps({"item_id": "of no batch"})


def drawn_log(items: Sequence[str], chance: Random) -> Log:
    """Return a log of two thirds of *items*, a few of them as failures."""
    shuffled = chance.sample(items, len(items))
    some, few = 2 * len(items) // 3, len(items) // 50
    return Log(items, shuffled[few:some], shuffled[:few])


def odd(log: Log, acked: Event, saved: Event) -> list[str]:
    """Return what the jobs' counts have that is not so: *acked* of bulk_ack, *saved* of reconcile."""
    fresh = len(log.acked) + len(log.failed)
    wanted = {"fresh": fresh, "failed": len(log.failed)}
    counts = {"rows": len(log.items), "outstanding": len(log.outstanding), "failed": len(log.failed)}
    pairs = [("bulk_ack", acked, wanted), ("reconcile", saved, counts)]
    return [
        f"{job}: {name} {found.get(name)}, not {right}"
        for job, found, all_right in pairs
        for name, right in all_right.items()
        if found.get(name) != right
    ]


@dataclass
class Folding:
    """The Spark jobs on *run*; each call has a folder of its own below *folder*."""

    run: LocalRun
    tracking: Tracking
    folder: Path
    may_repeat: bool
    rounds: int = 0

    def round(self) -> str:
        """Fan out, fold, reconcile, and ack the rest; return what was seen. Raises SystemExit."""
        if free_mb() < MEMORY_MB:
            return f"left out: {free_mb()} MB free"
        self.rounds += 1
        self.here = self.folder / f"spark-{self.rounds}"
        self.here.mkdir()
        log = drawn_log(self.fanned_out(), self.tracking.chance)
        self.tracking.ledger.batches[self.batch].failed = len(log.failed)
        acked = self.folded(log)
        saved = self.reconciled()
        self.tracking.ledger.folds += odd(log, acked, saved)
        self.tracking.ack(log.outstanding)
        return (
            f"{len(log.items):,} items fanned out, {acked['fresh']:,} folded, {saved['outstanding']:,} left"
        )

    def fanned_out(self) -> list[str]:
        """Return the items of a new, closed batch."""
        rows = self.here / "rows.jsonl"
        rows.write_text("".join(json.dumps({"row": number}) + "\n" for number in range(ITEMS)))
        arguments = ["--dataset", str(rows), "--manifest", str(self.here / "manifest")]
        arguments += ["--api-url", self.run.url, "--files", str(self.here / "messages")]
        opened = self.job("fan_out", *arguments)["opened"]
        if self.may_repeat:  # the client in the job repeats requests unseen
            self.tracking.ledger.doubt("BatchesOpened", 1)
            self.tracking.ledger.doubt("ItemsAdded", ITEMS)
        self.batch = opened["batchId"]
        self.tracking.ledger.opened(self.batch, Expected(KIND))
        self.tracking.ledger.added(self.batch, ITEMS)
        return [f"{self.batch}:{opened['groupId']}:{index}" for index in range(ITEMS)]

    def folded(self, log: Log) -> Event:
        path = self.here / "acks.jsonl"
        path.write_text("".join(f"{line}\n" for line in log.lines()))
        arguments = [str(path), "--tenant", "000000000000", *self.tables]
        return self.job("bulk_ack", *arguments, "--rejects", str(self.here / "rejects"))["acked"]

    def reconciled(self) -> Event:
        arguments = ["--batch", self.batch, "--manifest", str(self.here / "manifest"), *self.tables]
        return self.job("reconcile", *arguments, "--failed", "--out", str(self.here / "left"))["saved"]

    @property
    def tables(self) -> list[str]:
        outputs = self.run.outputs
        return ["--batches-table", outputs["BatchesTable"], "--pages-table", outputs["PagesTable"]]

    def job(self, name: str, *arguments: str) -> dict[str, Event]:
        """Return the last event of each name that a job printed."""
        environment = {**self.run.environment, "PYTHONPATH": "shared:.", "SPARK_LOCAL_IP": "127.0.0.1"}
        completed = measured_job.run(name, arguments, environment, accept=(0, SOME_REJECTED))
        return dict(completed.events)
