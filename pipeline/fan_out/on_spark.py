"""fan_out by Spark: in tasks of Arrow where the dataset is Parquet, else in frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fanin.publishing.packing import pack_of
from pipeline.fan_out import arrow_files, manifest, messages
from pipeline.fan_out.arrow_files import NotByArrow, NumberTask, Written
from pipeline.fan_out.json_texts import NoJson
from pipeline.fan_out.parts import COLUMNS, Part
from pipeline.fan_out.publish import FanOutRequest, Items, Numbered, Saved
from pipeline.fan_out.send import send_all, task_count
from pipeline.shared_by_jobs import datasets, output
from pipeline.shared_by_jobs.check import has_cluster
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.without_spark import output as by_arrow
from pipeline.without_spark import pieces
from pipeline.without_spark.listing import NotListed

_WRITTEN = "name string, part int, rows long, size long, widest long"
_NO_ARROW = (NotByArrow, NoJson, NotListed, OSError, pa.ArrowException)
"""Why frames do the work: a dataset or a file system that Arrow does not know as Spark does."""


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs fan_out in a session of Spark."""

    spark: SparkSession

    @property
    def slots(self) -> int:
        """Return how many tasks run at once."""
        return self.spark.sparkContext.defaultParallelism

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""
        parts: list[Part] = []
        path, source = request.manifest, request.source
        loaded = manifest.ensure(
            self.spark, path, lambda: parts.extend(self._write(request, run)), source=source
        )
        return Numbered(loaded.run, parts or manifest.measure(loaded.rows), loaded)

    def measure(self, request: FanOutRequest) -> Sequence[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""
        return manifest.measure(messages.number_rows(self._read(request)))

    def refuse_foreign(self, path: str) -> None:
        """Raise NotOurs unless *path* is empty or holds messages."""
        output.refuse_foreign(self.spark, path, messages.MESSAGE)

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report) -> Saved:
        """Write the messages to ``request.files``, replacing those of an earlier run."""
        with watching(self.spark.sparkContext, report):
            saved = None if request.chaos_duplicates else self._save_by_arrow(items, request)
            return saved or self._save_by_frames(numbered, items, request)

    def send(
        self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report
    ) -> dict[str, int]:
        """Send the messages to ``request.queue``; return the counts of FannedOut."""
        assert request.queue is not None
        total, pack = numbered.total, pack_of(request.chunk)
        copies = self._copies(numbered, items, request)
        frame = messages.as_messages(copies, task_count(total, self.slots), request.neighbours)
        return send_all(frame, total, request.queue, request.rate, report, pack=pack)

    def _write(self, request: FanOutRequest, run: str) -> list[Part]:
        """Write the manifest; return its parts if they were measured, else none."""
        output.refuse_foreign(self.spark, request.manifest, COLUMNS)
        try:
            _check_places(request.dataset, request.manifest)
            share = arrow_files.source_of(request.dataset, request.limit)
            by_arrow.clear(request.manifest)
        except _NO_ARROW:
            manifest.write(self._read(request), request.manifest, run=run, source=request.source)
            return []
        dealt = enumerate(pieces.shares(share, self.slots))
        tasks = [NumberTask(number, each, request.manifest, run, request.source) for number, each in dealt]
        written = self._run(arrow_files.write_part, tasks)
        by_arrow.publish(request.manifest, [each.name for each in written])
        return [each.part for each in written if each.part.rows]

    def _save_by_arrow(self, items: Items, request: FanOutRequest) -> Saved | None:
        """Write the messages in tasks of Arrow; return None if it cannot read or write the files."""
        files = str(request.files)
        try:
            _check_places(request.manifest, files)
            stored = arrow_files.load(request.manifest)
            by_arrow.clear(files)
        except _NO_ARROW:
            return None
        tasks = arrow_files.message_tasks(stored, files, items.head, self.slots)
        written = self._run(arrow_files.write_messages, tasks)
        by_arrow.publish(files, [each.name for each in written])
        return Saved(sum(each.part.rows for each in written))

    def _save_by_frames(self, numbered: Numbered, items: Items, request: FanOutRequest) -> Saved:
        frame = self._copies(numbered, items, request)
        frame.write.mode("overwrite").parquet(str(request.files))
        saved = self.spark.read.parquet(str(request.files)).groupBy("copy").count().collect()
        rows = {row.copy: row["count"] for row in saved}
        return Saved(rows.get(1, 0), rows.get(2, 0))

    def _copies(self, numbered: Numbered, items: Items, request: FanOutRequest) -> DataFrame:
        placed = manifest.positions(numbered.rows, numbered.parts)
        named = messages.with_item_ids(placed, items.batch_id, items.group_id)
        return messages.with_copies(named, request.chaos_duplicates, request.seed, request.neighbours)

    def _read(self, request: FanOutRequest) -> DataFrame:
        return datasets.read_dataset(self.spark, request.dataset, request.limit)

    def _run(self, work: Callable[[Any], Written], tasks: Sequence[Any]) -> list[Written]:
        """Return what *work* wrote for each of *tasks*; of the attempts of a task, one is returned."""
        numbers = self.spark.range(0, len(tasks), 1, len(tasks))
        rows = numbers.mapInArrow(partial(_work, work=work, tasks=tasks), _WRITTEN).collect()
        found = [Written(row.name, Part(row.part, row.rows, row.size, row.widest)) for row in rows]
        return sorted(found, key=lambda each: each.part.number)


def _check_places(dataset: str, *outputs: str) -> None:
    """Raise NotByArrow if only Spark knows where they are: tables, and the file system of a cluster."""
    if dataset.startswith(datasets.TABLE):
        raise NotByArrow("it is a table")
    if has_cluster() and not all("://" in path for path in (dataset, *outputs)):
        raise NotByArrow("a path without a scheme is of the cluster's file system")


def _work(
    numbers: Iterator[pa.RecordBatch], work: Callable[[Any], Written], tasks: Sequence[Any]
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            written = work(tasks[number])
            part = written.part
            row = [written.name, part.number, part.rows, part.size, part.widest]
            columns = [pa.array([value], kind) for value, kind in zip(row, _TYPES, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=["name", "part", "rows", "size", "widest"])


_TYPES = (pa.string(), pa.int32(), pa.int64(), pa.int64(), pa.int64())
