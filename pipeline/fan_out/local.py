"""fan_out in processes of this machine, without Spark: of a dataset in Parquet."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fanin.publishing.packing import pack_of
from pipeline.fan_out import arrow_files
from pipeline.fan_out.arrow_files import MESSAGES, NotByArrow, NumberTask, StoredManifest
from pipeline.fan_out.json_texts import NoJson
from pipeline.fan_out.parts import COLUMNS, Part, check_source, starts
from pipeline.fan_out.publish import FanOutRequest, Items, Numbered, Saved
from pipeline.fan_out.send import PROGRESS_SECONDS, Queue, Tally, counted_facts, rows_together, send_part
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.progress import WATCH_SECONDS, Report, moving
from pipeline.without_spark import output, pieces
from pipeline.without_spark.listing import ON_THIS_MACHINE, NotListed, listed
from pipeline.without_spark.pieces import Share
from pipeline.without_spark.processes import Clock, Processes

REFUSALS = (NotByArrow, NoJson, NotListed)
"""What the engine raises for what only Spark takes."""
SENT_AT_ONCE = 65_536
"""About so many rows one task sends; a task reads whole row groups, which have as many."""


class Message(NamedTuple):
    """A row to send."""

    position: int
    item_id: str
    record: str
    copy: int = 1


@dataclass(frozen=True, slots=True)
class SendTask:
    """Sends the rows of *share* whose positions are from *first* to before *end*."""

    share: Share
    starts: Sequence[tuple[int, int]]
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

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""
        if not output.is_committed(request.manifest):
            parts = self._write(request, run)
            stored = arrow_files.load(request.manifest)
        else:
            stored = arrow_files.load(request.manifest)
            check_source(request.manifest, stored.source, request.source)
            tasks = arrow_files.message_tasks(stored, "", "", self.cores)
            parts = self._run(arrow_files.measure_stored, tasks, request.manifest)
        return Numbered(stored.run, parts, stored)

    def measure(self, request: FanOutRequest) -> Sequence[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""
        return self._run(arrow_files.measure_part, self._tasks(request, ""), request.dataset)

    def refuse_foreign(self, path: str) -> None:
        """Raise NotOurs unless *path* is empty or holds messages."""
        output.refuse_foreign(path, MESSAGES.names)

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report) -> Saved:
        """Write the messages to ``request.files``, replacing those of an earlier run."""
        files = str(request.files)
        output.clear(files)
        tasks = arrow_files.message_tasks(numbered.rows, files, items.head, self.cores)
        written = self._run(arrow_files.write_messages, tasks, request.manifest, files)
        output.publish(files, [each.name for each in written])
        return Saved(sum(each.part.rows for each in written))

    def send(
        self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report
    ) -> dict[str, int]:
        """Send the messages to ``request.queue``; return the counts of FannedOut."""
        assert request.queue is not None
        tasks = list(_send_tasks(numbered.rows, items.head, request.neighbours))
        processes = self._processes(len(tasks), request.manifest)
        tally = Tally(processes.count(), processes.count(), processes.count())
        share = request.rate / processes.number if request.rate else None
        started, progress = time.monotonic(), moving(report, "sent")

        def facts() -> dict[str, Any]:
            return counted_facts(tally, numbered.total, started)

        clock = Clock(PROGRESS_SECONDS, lambda: progress("progress", facts()))
        sending = Sending(request.queue, tally, share, request.chunk)
        for _ in processes.run(_send_task, tasks, sending, clock):
            pass
        report("sent", facts())
        return tally.facts()

    def _write(self, request: FanOutRequest, run: str) -> Sequence[Part]:
        output.refuse_foreign(request.manifest, COLUMNS)
        tasks = self._tasks(request, run)
        output.clear(request.manifest)
        written = self._run(arrow_files.write_part, tasks, request.dataset, request.manifest)
        output.publish(request.manifest, [each.name for each in written])
        return [each.part for each in written]

    def _tasks(self, request: FanOutRequest, run: str) -> list[NumberTask]:
        share = arrow_files.source_of(request.dataset, request.limit)
        dealt = enumerate(pieces.shares(share, self.cores))
        return [NumberTask(number, each, request.manifest, run, request.source) for number, each in dealt]

    def _run(self, work: Callable[[Any, None], Any], tasks: Sequence[Any], *paths: str) -> list[Any]:
        """Return what *work* returns for each of *tasks*, which read or write *paths*."""
        size = sum(piece.size for task in tasks for piece in task.share)
        processes = self._processes(min(len(tasks), ceil(size / self.size)), *paths)
        return list(processes.run(work, tasks, None, Clock(WATCH_SECONDS, lambda: None)))

    def _processes(self, wanted: int, *paths: str) -> Processes:
        are_here = all("://" not in path or path.startswith(ON_THIS_MACHINE) for path in paths)
        return Processes(max(1, min(self.cores, wanted)), may_fork=are_here)


def _send_tasks(stored: StoredManifest, head: str, chunk: int) -> Iterator[SendTask]:
    """Yield tasks of whole pages, and of whole chunks."""
    before = starts(stored.parts)
    bounds = list(accumulate((piece.rows for piece in stored.pieces), initial=0))
    page = rows_together(chunk)
    size = page * ceil(SENT_AT_ONCE / page)
    for first in range(0, bounds[-1], size):
        end = min(first + size, bounds[-1])
        share = stored.pieces[bisect_right(bounds, first) - 1 : bisect_right(bounds, end - 1)]
        yield SendTask(share, before, head, first, end)


def _send_task(task: SendTask, sending: Sending) -> None:
    send_part(_rows(task), sending.queue, sending.tally, sending.rate, iter, pack_of(sending.chunk))


def _rows(task: SendTask) -> Iterator[Message]:
    for position, records in arrow_files.positioned(task.share, task.starts):
        asked = pc.and_(pc.greater_equal(position, task.first), pc.less(position, task.end))
        table = pa.table({"position": position, "record": records}).filter(asked)
        for place, record in zip(table["position"].to_pylist(), table["record"].to_pylist(), strict=True):
            yield Message(place, f"{task.head}{place}", record)
