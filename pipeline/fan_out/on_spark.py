"""fan_out by Spark: in tasks of Arrow where the dataset is Parquet, else in frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fanin.publishing.packing import pack_of
from pipeline.engine_without_spark.listing import NotListed
from pipeline.fan_out import manifest, messages
from pipeline.fan_out.arrow_files import NotByArrow, Written
from pipeline.fan_out.by_arrow import ByArrow
from pipeline.fan_out.json_texts import NoJson
from pipeline.fan_out.parts import COLUMNS, Part, check_label
from pipeline.fan_out.publish import FanOutRequest, Items, Numbered, Saved
from pipeline.fan_out.send import Queue, paced, send_all
from pipeline.shared_by_jobs import datasets, output
from pipeline.shared_by_jobs.check import has_cluster
from pipeline.shared_by_jobs.files import whole
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.shared_by_jobs.stages import slots_of

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
        return slots_of(self.spark).count

    @property
    def by_arrow(self) -> ByArrow:
        """Return the way without frames."""
        return ByArrow(self._run, self.slots)

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""
        path = request.manifest
        if not output.is_committed(path):
            output.refuse_foreign(self.spark, path, COLUMNS)
            try:
                _check_places(request)
                return self.by_arrow.number(request, run)
            except _NO_ARROW:
                manifest.write(self._read(request), path, run=run, source=request.source)
        loaded = manifest.load(self.spark, path)
        check_label(path, loaded.label, request.source, request.files and whole(request.files))
        if loaded.label.messages:
            return Numbered(loaded.label, [Part(0, loaded.label.total)])
        return Numbered(loaded.label, manifest.measure(loaded.rows))

    def measure(self, request: FanOutRequest) -> Sequence[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""
        return manifest.measure(messages.number_rows(self._read(request)))

    def refuse_foreign(self, path: str) -> None:
        """Raise NotOurs unless *path* is empty or holds messages."""
        output.refuse_foreign(self.spark, path, messages.MESSAGE)

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report) -> Saved:
        """Write the messages to ``request.files``, replacing those of an earlier batch."""
        with watching(self.spark, report):
            try:
                _check_places(request)
                return self.by_arrow.save(numbered, items, request)
            except _NO_ARROW:
                if numbered.label.messages:
                    raise
                return self._save(numbered, items, request)

    def send(
        self, numbered: Numbered, items: Items, request: FanOutRequest, queue: Queue, report: Report
    ) -> Counter[str]:
        """Send the messages to *queue*; return the COUNTS of `send`."""
        total, pack = numbered.total, pack_of(request.chunk)
        spread = paced(self.spark, total, request.rate)
        copies = self._copies(numbered, items, request)
        frame = messages.as_messages(copies, spread.tasks, request.neighbours)
        return send_all(frame, total, queue, spread.rate, report, pack=pack)

    def _save(self, numbered: Numbered, items: Items, request: FanOutRequest) -> Saved:
        frame = self._copies(numbered, items, request)
        frame.write.mode("overwrite").parquet(str(request.files))
        saved = self.spark.read.parquet(str(request.files)).groupBy("copy").count().collect()
        rows = {row.copy: row["count"] for row in saved}
        return Saved(rows.get(1, 0), rows.get(2, 0))

    def _copies(self, numbered: Numbered, items: Items, request: FanOutRequest) -> DataFrame:
        loaded = manifest.load(self.spark, request.manifest)
        placed = manifest.positions(loaded, numbered.parts)
        named = messages.with_item_ids(placed, items.batch_id, items.group_id)
        return messages.with_copies(named, request.chaos_duplicates, request.seed, request.neighbours)

    def _read(self, request: FanOutRequest) -> DataFrame:
        return datasets.read_dataset(self.spark, request.dataset, request.limit)

    def _run(self, work: Callable[[Any], Written], tasks: Sequence[Any], _: Sequence[str]) -> list[Written]:
        """Return what *work* wrote for each of *tasks*; of the attempts of a task, one is returned."""
        numbers = self.spark.range(0, len(tasks), 1, len(tasks))
        rows = numbers.mapInArrow(partial(_work, work=work, tasks=tasks), _WRITTEN).collect()
        found = [Written(row.name, Part(row.part, row.rows, row.size, row.widest)) for row in rows]
        return sorted(found, key=lambda each: each.part.number)


def _check_places(request: FanOutRequest) -> None:
    """Raise NotByArrow for what only Spark does: tables, the file system of a cluster, second copies."""
    if request.dataset.startswith(datasets.TABLE):
        raise NotByArrow("it is a table")
    if request.chaos_duplicates:
        raise NotByArrow("some items are sent twice")
    paths = [path for path in (request.dataset, request.manifest, request.files) if path]
    if has_cluster() and not all("://" in path for path in paths):
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
