"""fan_out in processes of this machine, without Spark: of a dataset in Parquet."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from fanin.publishing.packing import pack_of
from pipeline.engine_without_spark import output
from pipeline.engine_without_spark.listing import ON_THIS_MACHINE, NotListed, listed
from pipeline.engine_without_spark.processes import Clock, Processes
from pipeline.fan_out import arrow_files
from pipeline.fan_out.arrow_files import MESSAGES, NotByArrow, StoredManifest
from pipeline.fan_out.by_arrow import ByArrow
from pipeline.fan_out.json_texts import NoJson
from pipeline.fan_out.parts import Part
from pipeline.fan_out.publish import FanOutRequest, Items, Numbered, Saved
from pipeline.fan_out.send import (
    PROGRESS_SECONDS,
    Only,
    Queue,
    Row,
    Tally,
    every_row,
    facts_of,
    rows_together,
    send_rows,
)
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.progress import WATCH_SECONDS, Report, moving

T = TypeVar("T")

REFUSALS = (NotByArrow, NoJson, NotListed)
"""What the engine raises for what only Spark takes."""
SENT_AT_ONCE = 65_536
"""About so many rows one task sends; a task reads whole row groups, which have as many."""


@dataclass(frozen=True, slots=True)
class SendTask:
    """Sends the rows of *manifest* whose positions are from *first* to before *end*."""

    manifest: StoredManifest
    head: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Sending:
    """What the processes that send share; *rate*: messages a second of one of them."""

    queue: Queue
    tally: Tally
    rate: float | None
    chunk: int | None
    only: Only = every_row

    def send(self, rows: Iterator[Row]) -> Counter[str]:
        """Send the rows of one task that *only* keeps; return the COUNTS."""
        return send_rows(rows, self.queue, self.tally, self.rate, self.only, pack_of(self.chunk))


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs fan_out on *cores* of this machine; each process has at least *size* bytes of rows to read."""

    cores: int
    size: int = 32 << 20

    def list_dataset(self, request: FanOutRequest) -> list[ListedFile]:
        """Return the files of the dataset. Raises NotByArrow or NotListed if only Spark takes the request."""
        if request.chaos_duplicates:
            raise NotByArrow("only Spark sends second copies")
        arrow_files.source_of(request.dataset, request.limit)
        return listed([request.dataset])

    @property
    def by_arrow(self) -> ByArrow:
        """Return the way of a dataset in Parquet."""
        return ByArrow(self._run, self.cores)

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""
        return self.by_arrow.number(request, run)

    def measure(self, request: FanOutRequest) -> Sequence[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""
        return self.by_arrow.measure(request)

    def refuse_foreign(self, path: str) -> None:
        """Raise NotOurs unless *path* is empty or holds messages."""
        output.refuse_foreign(path, MESSAGES.names)

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest, _: Report) -> Saved:
        """Write the messages to ``request.files``, replacing those of an earlier batch."""
        return self.by_arrow.save(numbered, items, request)

    def send(
        self, numbered: Numbered, items: Items, request: FanOutRequest, queue: Queue, report: Report
    ) -> Counter[str]:
        """Send the messages to *queue*; return the COUNTS of `send`."""
        tasks = list(_send_tasks(arrow_files.load(request.manifest), items.head, request.neighbours))
        processes = processes_of(self.cores, len(tasks), [request.manifest])
        sending = sending_of(processes, queue, request.rate, request.chunk)
        return run_sending(processes, _send_task, tasks, sending, numbered.total, report)

    def _run(self, work: Callable[[Any, None], Any], tasks: Sequence[Any], paths: Sequence[str]) -> list[Any]:
        """Return what *work* returns for each of *tasks*, which read or write *paths*."""
        size = sum(piece.size for task in tasks for piece in task.share)
        processes = processes_of(self.cores, min(len(tasks), ceil(size / self.size)), paths)
        found = list(processes.run(_numbered, list(enumerate(tasks)), work, Clock(WATCH_SECONDS, _nothing)))
        return [answer for _, answer in sorted(found, key=itemgetter(0))]


def processes_of(cores: int, wanted: int, paths: Sequence[str]) -> Processes:
    """Return *wanted* processes, at most *cores*, for tasks that read or write *paths*."""
    are_here = all("://" not in path or path.startswith(ON_THIS_MACHINE) for path in paths)
    return Processes(max(1, min(cores, wanted)), may_fork=are_here)


def sending_of(
    processes: Processes, queue: Queue, rate: float | None, chunk: int | None, only: Only = every_row
) -> Sending:
    """Return what *processes* share that send to *queue*, at *rate* messages a second together."""
    tally = Tally(processes.count(), processes.count(), processes.count())
    return Sending(queue, tally, rate / processes.number if rate else None, chunk, only)


def run_sending(
    processes: Processes,
    work: Callable[[T, Sending], Counter[str]],
    tasks: Sequence[T],
    sending: Sending,
    total: int,
    report: Report,
) -> Counter[str]:
    """Run *work*, which sends the rows of a task; return the COUNTS. *total*: the items of all tasks."""
    started, progress = time.monotonic(), moving(report, "sent")

    def tick() -> None:
        progress("progress", facts_of(sending.tally.facts(), total, started))

    counts: Counter[str] = Counter()
    for sent in processes.run(work, tasks, sending, Clock(PROGRESS_SECONDS, tick)):
        counts.update(sent)
    report("sent", facts_of(counts, total, started))
    return counts


def _numbered(task: tuple[int, Any], work: Any) -> tuple[int, Any]:
    number, own = task
    return number, work(own)


def _nothing() -> None:
    """Report nothing: the tasks take seconds."""


def _send_tasks(stored: StoredManifest, head: str, chunk: int) -> Iterator[SendTask]:
    """Yield tasks of whole pages, and of whole chunks."""
    total = sum(piece.rows for piece in stored.pieces)
    page = rows_together(chunk)
    size = page * ceil(SENT_AT_ONCE / page)
    for first in range(0, total, size):
        yield SendTask(stored, head, first, min(first + size, total))


def _send_task(task: SendTask, sending: Sending) -> Counter[str]:
    return sending.send(_rows(task))


def _rows(task: SendTask) -> Iterator[Row]:
    wanted = np.arange(task.first, task.end)
    for positions, records in arrow_files.rows_at(task.manifest, wanted):
        for position, record in zip(positions.to_pylist(), records.to_pylist(), strict=True):
            yield Row(position, 1, f"{task.head}{position}", record)
