"""bulk_ack in processes of this machine, without Spark. Rows of FOLDED are kept in temporary files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from math import ceil
from operator import itemgetter
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.bulk_ack import rows, write
from pipeline.bulk_ack.fold import REASONS, fold_files
from pipeline.bulk_ack.logs import listed_in
from pipeline.bulk_ack.rows import Collected
from pipeline.bulk_ack.run import PROGRESS_SECONDS, BulkAckRequest, Folded, write_tasks
from pipeline.bulk_ack.write import Tally, Target
from pipeline.engine_without_spark.listing import ON_THIS_MACHINE
from pipeline.engine_without_spark.output import commit
from pipeline.engine_without_spark.processes import Clock, Processes
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.files import ListedFile, shares
from pipeline.shared_by_jobs.progress import WATCH_SECONDS, Report, count
from pipeline.table_frames.tables import Tables


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs bulk_ack on *cores* of this machine.

    Each process has at least *fold_bytes* of logs or *pages* to write: of less, its start takes longer.
    """

    cores: int
    fold_bytes: int = 16 << 20
    pages: int = 2048

    def list_logs(self, paths: Sequence[str]) -> list[ListedFile]:
        """Return the logs in *paths*. Raises UnreadableLog or NotListed."""
        return listed_in(paths)

    def count(self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> Folded:
        """Fold *logs* and return only the counts."""
        with self._collected(logs, request, report) as (_, collected):
            return _counts(collected, collected.page_masks())

    @contextmanager
    def fold(
        self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
    ) -> Iterator[LocalFold]:
        """Fold *logs*, and keep them while the body runs."""
        with self._collected(logs, request, report) as (files, collected):
            table = pa.Table.from_batches(collected.page_masks(), rows.PAGE_MASKS)
            counts = _counts(collected, table.to_batches())
            yield LocalFold(self, logs, files, collected, table, counts)

    @contextmanager
    def _collected(
        self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
    ) -> Iterator[tuple[list[str], Collected]]:
        """Yield the files with FOLDED of *logs*, which exist while the body runs, and what is in them."""
        processes = self.processes(logs, ceil(sum(file.size for file in logs) / self.fold_bytes))
        with TemporaryDirectory(prefix="fanin-bulk-ack-") as folder:
            tasks = [
                (paths, request.tables, request.tenant, f"{folder}/{number}.arrow")
                for number, paths in enumerate(shares(logs, self.cores))
            ]
            collected, started = Collected(), time.monotonic()

            def working() -> None:
                stages = f"folding {count(len(logs), 'file')}: {len(files)} of {count(len(tasks), 'task')}"
                report("working", {"stages": stages, "seconds": round(time.monotonic() - started, 1)})

            files: list[str] = []
            for file in processes.run(_fold_task, tasks, None, Clock(WATCH_SECONDS, working)):
                files.append(file)
                for batch in _read(file):
                    collected.take(batch)
            yield files, collected

    def processes(self, logs: Sequence[ListedFile], wanted: int) -> Processes:
        """Return the processes for *wanted* times the least work of one."""
        are_here = all(file.path.startswith(ON_THIS_MACHINE) for file in logs)
        return Processes(max(1, min(self.cores, wanted)), may_fork=are_here)


@dataclass(frozen=True, slots=True)
class LocalFold:
    """Folded logs: the temporary *files* of the tasks, and what was *collected* of them."""

    engine: LocalEngine
    logs: Sequence[ListedFile]
    files: Sequence[str]
    collected: Collected
    page_masks: pa.Table
    counts: Folded

    def save_rejected(self, path: str) -> None:
        """Save the rejected rows at *path*."""
        found = (batch.column("rejected").drop_null() for file in self.files for batch in _read(file))
        commit(path, rows.REJECTED, (_rejected(column) for column in found if len(column)))

    def mark(self, request: BulkAckRequest, progress: Callable[[Tally], None]) -> list[dict[str, Any]]:
        """Write the pages to the tracker; return OUTCOMES, one row per batch."""
        pages = self.page_masks.num_rows
        processes = self.engine.processes(self.logs, ceil(pages / self.engine.pages))
        tasks = dealt(self.page_masks, write_tasks(pages, processes.number))
        target = request.target(processes.number)
        tally = Tally(processes.count(), processes.count())
        clock = Clock(PROGRESS_SECONDS, lambda: progress(tally))
        marked = list(processes.run(_mark_task, [(task, target) for task in tasks], tally, clock))
        return write.united(row for part in marked for row in part)

    def keep_reasons(self, target: Target) -> None:
        """Store why items failed."""
        ordered = itemgetter("batch_id", "item_id", "reason")
        of_batches = groupby(sorted(self.collected.reasons, key=ordered), key=itemgetter("batch_id"))
        write.keep_reasons(target, (row for _, some in of_batches for row in islice(some, REASONS)))


FoldTask = tuple[list[str], Tables, str, str]
"""The paths of logs, the tables, the tenant, and the file for FOLDED."""


def _fold_task(task: FoldTask, _: None) -> str:
    """Write FOLDED of the task's logs to its file; return the file."""
    paths, tables, tenant, out = task
    with pa.ipc.new_stream(out, rows.FOLDED) as sink:
        for batch in fold_files(paths, tables.store, tenant):
            sink.write_batch(batch)
    return out


def _mark_task(task: tuple[pa.Table, Target], tally: Tally) -> list[write.Row]:
    found, target = task
    return write.outcomes(write.mark(found.to_batches(), target, tally), target)


def _read(file: str) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(file) as source, pa.ipc.open_stream(source) as stream:
        yield from stream


def _rejected(column: pa.StructArray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(column.flatten(), schema=rows.REJECTED)


def dealt(page_masks: pa.Table, tasks: int) -> list[pa.Table]:
    """Return PAGE_MASKS in at most so many shares, in the order in which they are written.

    All pages of a batch with failures are in one share, because each updates the batch's row.
    """
    batch = page_masks["batch_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    page, failing = page_masks["page"].to_numpy(), _popcounts(page_masks["failed"]) > 0
    block = np.where(failing, -1, page // bitmaps.BLOCK_PAGES)
    order = np.lexsort((page, failing, batch))
    _, share = np.unique(np.stack([batch, block]), axis=1, return_inverse=True)
    share = share.ravel()[order] % tasks
    return [page_masks.take(order[share == number]) for number in np.unique(share)]


def _counts(found: Collected, page_masks: Iterable[pa.RecordBatch]) -> Folded:
    return Folded(found.acks, dict(found.rejected), **rows.page_counts(page_masks))


def _popcounts(column: pa.ChunkedArray) -> bitmaps.Longs:
    counts = [bitmaps.popcount(bitmaps.from_column(chunk)) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, np.int64), *counts])
