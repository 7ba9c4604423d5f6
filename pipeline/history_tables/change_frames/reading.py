"""Reads the archive as frames: executors parse its files, and only parsed rows enter the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pipeline.history_tables.change_frames import schemas
from pipeline.history_tables.change_frames.archive import Archive, Days
from pipeline.history_tables.change_frames.rows import read
from pipeline.shared_by_jobs.files import shares
from pipeline.shared_by_jobs.stages import dealt, slots_of
from pipeline.table_changes.acked import rows_of
from pipeline.table_changes.records import MalformedLine, change_of

ROWS_A_BATCH = 10_000

FRAMES = {
    "pages": schemas.PAGE_CHANGES,
    "batches": schemas.BATCH_ROWS,
    "tasks": schemas.TASK_IMAGES,
    "bundles": schemas.BUNDLE_IMAGES,
    "jobs": schemas.JOB_IMAGES,
}
"""The schema of each kind of table."""


def changes(spark: SparkSession, archive: Archive, kind: str, days: Days) -> DataFrame:
    """Return the frame of a *kind* of table from the archive's changes of *days*.

    A record that is stored twice is in the frame twice. A malformed line stops the job with its location.
    """
    frame = dealt(spark, shares(archive.files(kind, days), slots_of(spark).count))
    return frame.mapInArrow(partial(_read, archive=archive, kind=kind), FRAMES[kind])


def _read(batches: Iterator[pa.RecordBatch], archive: Archive, kind: str) -> Iterator[pa.RecordBatch]:
    paths = (path for batch in batches for paths in batch.column(0).to_pylist() for path in paths)
    rows = (row for path in paths for row in _rows(archive, path, kind))
    return _batches(rows, FRAMES[kind])


def _rows(archive: Archive, path: str, kind: str) -> Iterator[tuple[Any, ...]]:
    for number, line in enumerate(archive.lines(path), start=1):
        yield from _parsed(line, kind, f"{path}, line {number}")


def _parsed(line: bytes, kind: str, location: str) -> list[tuple[Any, ...]]:
    try:
        change = change_of(line)
        if kind == "pages":
            return list(rows_of(change))
        return [tuple(row.get(name) for name in FRAMES[kind].names) for row in read(change, kind)]
    except MalformedLine as error:
        raise MalformedLine(f"{location} is not a change of {kind}: {error}") from error


def _batches(rows: Iterator[tuple[Any, ...]], schema: StructType) -> Iterator[pa.RecordBatch]:
    wanted = to_arrow_schema(schema)
    while some := list(islice(rows, ROWS_A_BATCH)):
        columns = zip(zip(*some, strict=True), wanted, strict=True)
        arrays = [pa.array(column, field.type) for column, field in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)
