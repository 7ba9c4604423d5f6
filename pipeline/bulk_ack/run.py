"""Acks the items that ack logs list, by an engine: Spark, or processes of this machine.

Logs -> one bitmap per page -> the tracker's own code, one write per page. Bits are only ever set, so every
step may be repeated: a second run over the same logs, or a task or micro-batch that is run again, changes
nothing. An engine decides where files are read, how bitmaps are united and which process writes a page.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Protocol

from fanin.cost.dollars import price
from fanin.cost.prices import READ_UNIT, WRITE_UNIT
from fanin.tracker import State, Verdict
from pipeline.bulk_ack.rows import SUMMED
from pipeline.bulk_ack.write import Tally, Target
from pipeline.engine_without_spark.arrivals import Arrivals
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.progress import Report, moving
from pipeline.table_frames.tables import Tables

PLAIN_PAGE_WRITES = 2
FAILING_PAGE_WRITES = 7
"""The most write units of a page of folded acks: the page, and its bit in its parent.

A page with failures may be twice as large, and is written in one transaction with their count.
"""


@dataclass(frozen=True, slots=True)
class AckEstimate:
    """Units of acking folded logs: each page is read, and written if it lacks any bit; at most *writes*."""

    reads: int
    writes: int

    def facts(self) -> dict[str, Any]:
        """Return the fields of the event ``estimate``."""
        dollars = self.reads * READ_UNIT + self.writes * WRITE_UNIT
        return {
            "reads": self.reads,
            "mostWrites": self.writes,
            "mostDollars": round(dollars, 4),
            "price": price(dollars),
        }


def estimate_acks(pages: int, failing: int) -> AckEstimate:
    """Return the estimate for *pages* pages, *failing* of which have failures."""
    return AckEstimate(pages, PLAIN_PAGE_WRITES * (pages - failing) + FAILING_PAGE_WRITES * failing)


PAGES_A_TASK = 8192
MOST_TASKS = 10_000
"""Tasks that write pages take some seconds each, so that one that is run again repeats little."""
PROGRESS_SECONDS = 1.0
_NOT_LATE = (Verdict.ACCEPTED, Verdict.DUPLICATE)


def write_tasks(pages: int, slots: int) -> int:
    """Return by how many tasks so many *pages* are written, at least one per slot."""
    return max(slots, min(MOST_TASKS, ceil(pages / PAGES_A_TASK)))


class Counts(dict[str, int]):
    """Counts by name, formatted as ``3 foreign, 1 malformed``."""

    def __format__(self, _: str) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in sorted(self.items())) or "none"


@dataclass(frozen=True, slots=True)
class BulkAckRequest:
    """The tables and tenant to ack in, and the folder for rejected rows.

    *run* names this run in that folder, and as the caller of its acks. *rate*: write units a second, all
    executors together.
    """

    tables: Tables
    tenant: str
    rejects: str
    run: str
    rate: float | None = None

    def target(self, slots: int) -> Target:
        """Return what one of *slots* concurrent tasks may write."""
        return Target(
            self.tables, self.tenant, f"bulk-ack:{self.run}", self.rate / slots if self.rate else None
        )


@dataclass(frozen=True, slots=True)
class Folded:
    """Counts of the folded logs: acks, rejected rows by refusal, *pages* (*failing* any item), *items*
    (*failed* of them).
    """

    acks: int
    rejected: dict[str, int]
    pages: int
    items: int
    failed: int
    failing: int

    @property
    def facts(self) -> dict[str, Any]:
        """Return the counts as the facts of an event."""
        rejected = sum(self.rejected.values())
        return {
            "acks": self.acks + rejected,
            "items": self.items,
            "repeated": self.acks - self.items,
            "failures": self.failed,
            "pages": self.pages,
            "rejected": rejected,
            "why": Counts(self.rejected),
        }


class Fold(Protocol):
    """Folded logs in an engine, until they are written."""

    @property
    def counts(self) -> Folded: ...

    def save_rejected(self, path: str) -> None:
        """Save the rejected rows as Parquet, in place of those of a run of the same name."""

    def mark(self, request: BulkAckRequest, progress: Callable[[Tally], None]) -> list[dict[str, Any]]:
        """Write the pages to the tracker; return OUTCOMES, one row per batch."""

    def keep_reasons(self, target: Target) -> None:
        """Store why items failed."""


class Engine(Protocol):
    """What reads the logs, unites their bitmaps, and spreads the writes."""

    def count(self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> Folded:
        """Fold *logs* and return only the counts."""

    def list_logs(self, paths: Sequence[str]) -> list[ListedFile]:
        """Return the logs in *paths*: files, folders with everything below them, patterns."""

    def fold(
        self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
    ) -> AbstractContextManager[Fold]:
        """Fold *logs*, and keep them while the body runs."""


def bulk_ack(
    engine: Engine, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
) -> Counter[str]:
    """Ack what *logs* list; return the counts of MARKED by name, and ``rejected``."""
    started = time.monotonic()
    with engine.fold(logs, request, report) as fold:
        _report_folded(fold.counts, len(logs), started, report)
        _save_rejected(fold, request, report)
        outcomes = _mark(fold, request, report)
        totals: Counter[str] = Counter({name: sum(one[name] for one in outcomes) for name in SUMMED})
        if fold.counts.failed:
            fold.keep_reasons(request.target(1))
    totals["rejected"] = sum(fold.counts.rejected.values())
    states = Counter(one["state"] or "gone" for one in outcomes)
    report("acked", {**fold.counts.facts, **_facts(totals, states), "seconds": _since(started)})
    return totals


def follow(
    engine: Engine,
    folder: str,
    checkpoint: str,
    request: BulkAckRequest,
    report: Report,
    seconds: float | None,
) -> Iterator[Counter[str]]:
    """Ack each file that arrives in *folder* once, in micro-batches; yield what `bulk_ack` returns of each.

    *checkpoint*: a folder that keeps which files are taken. A micro-batch that is repeated saves its rejected
    rows at the same path. *seconds*: the time between two; None takes the files that are there now, and ends.
    """
    arrivals = Arrivals(checkpoint)
    while True:
        for batch in arrivals.take(lambda: engine.list_logs([folder])):
            yield bulk_ack(engine, batch.files, replace(request, run=batch.run), report)
        if seconds is None:
            return
        time.sleep(seconds)


def preview(engine: Engine, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> None:
    """Fold *logs* and report the most that acking them would cost; nothing is written."""
    started = time.monotonic()
    counts = engine.count(logs, request, report)
    _report_folded(counts, len(logs), started, report)
    report("estimate", {**counts.facts, **estimate_acks(counts.pages, counts.failing).facts()})


def _report_folded(counts: Folded, files: int, started: float, report: Report) -> None:
    report("folded", {**counts.facts, "files": files, "seconds": _since(started)})


def _save_rejected(fold: Fold, request: BulkAckRequest, report: Report) -> None:
    """Save the rejected rows before any page is written; a repeated micro-batch replaces its own."""
    if fold.counts.rejected:
        path = f"{request.rejects.rstrip('/')}/run={request.run}"
        fold.save_rejected(path)
        facts = fold.counts.facts
        report("rejected", {"path": path, "rows": facts["rejected"], "why": facts["why"]})


def _mark(fold: Fold, request: BulkAckRequest, report: Report) -> list[dict[str, Any]]:
    started, pages = time.monotonic(), fold.counts.pages
    moved = moving(report, "done")

    def progress(tally: Tally) -> None:
        counts = {"done": min(tally.pages.value, pages), "fresh": tally.fresh.value}
        moved("progress", {**counts, "pages": pages, "seconds": _since(started)})

    return fold.mark(request, progress)


def _facts(totals: Counter[str], states: Counter[str]) -> dict[str, Any]:
    """Return the part of the closing event that counts what the tracker answered."""
    late = {str(verdict): totals[verdict] for verdict in Verdict if verdict not in _NOT_LATE}
    return {
        "fresh": totals["fresh"],
        "duplicate": totals[Verdict.DUPLICATE],
        "failed": totals["failed"],
        "healed": totals["healed"],
        "late": Counts({name: count for name, count in late.items() if count}),
        "written": totals["written"],
        "requests": totals["requests"],
        "writeUnits": totals["write_units"],
        "batches": states.total(),
        "complete": states[State.COMPLETE],
    }


def _since(started: float) -> float:
    return round(time.monotonic() - started, 1)
