"""Reads the tracker's tables as frames, from point-in-time exports or from the live tables.

    snapshot = frames.from_exports(spark, ["s3://bucket/AWSDynamoDB/0123-abcd", ...])
    snapshot = frames.from_tables(spark, Tables("Batches", "Pages"), rate=500)
    snapshot = frames.from_batch(spark, Tables("Batches", "Pages"), key, failures=False)
    snapshot.pages, snapshot.batches, snapshot.malformed

None shows all rows at one instant: an export may hold a part of a transaction, and a Scan reads rows at
different times. A single row is always whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import Batch, BatchKey
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.stages import slots_of
from pipeline.table_frames import export
from pipeline.table_frames.branches import Branch, branches_of, read_branch
from pipeline.table_frames.export import DataFile, Line
from pipeline.table_frames.rows import Facts, facts_of
from pipeline.table_frames.scanning import Segment, location, row_of, scan
from pipeline.table_frames.tables import Tables

ROWS_A_BATCH = 1000
SEGMENTS_A_SLOT = 4
"""Scan segments per core: a segment that is larger than the others keeps one core busy, not all."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The tables as they were at *taken_at*; each frame below reads *rows* once."""

    taken_at: datetime
    rows: DataFrame

    @property
    def pages(self) -> DataFrame:
        """Return PAGES."""
        return self.rows.where("page IS NOT NULL").select("page.*")

    @property
    def batches(self) -> DataFrame:
        """Return BATCHES."""
        return self.rows.where("batch IS NOT NULL").select("batch.*")

    @property
    def malformed(self) -> DataFrame:
        """Return (location, problem): rows that the tracker cannot have written, and files that lack rows."""
        return self.rows.where("problem IS NOT NULL").select("location", "problem")


def from_exports(spark: SparkSession, roots: Sequence[str], batch_id: str | None = None) -> TableSnapshot:
    """Return the snapshot in the exports *roots*, of one batch or of all. Raises NotAnExport."""
    found = [export.describe(root) for root in roots]
    files = [(file.path, file.items) for each in found for file in each.files]
    frame = spark.createDataFrame(files, "path string, items long").repartition(max(1, len(files)))
    rows = frame.mapInArrow(partial(_read_files, about=batch_id), schemas.ROWS)
    return TableSnapshot(min(each.taken_at for each in found), rows)


def from_tables(
    spark: SparkSession, tables: Tables, batch_id: str | None = None, rate: float | None = None
) -> TableSnapshot:
    """Return the snapshot of a parallel Scan, of one batch or of all.

    *rate*: read units a second, all executors together.
    """
    slots, names = slots_of(spark), (tables.batches, tables.pages)
    of = slots.count * SEGMENTS_A_SLOT
    paced = slots.paced(of * len(names), rate)
    parts = [Segment(tables, name, number, of, paced.rate) for name in names for number in range(of)]
    numbers = spark.range(0, len(parts), 1, paced.tasks)
    rows = numbers.mapInArrow(partial(_scan_parts, parts=parts, about=batch_id), schemas.ROWS)
    return TableSnapshot(datetime.now(UTC), rows)


def from_batch(
    spark: SparkSession, tables: Tables, key: BatchKey, failures: bool, rate: float | None = None
) -> TableSnapshot:
    """Return the snapshot of the batch *key*, by reads of its leaves in place of a Scan of all batches.

    Leaves that their parents mark full are in PAGES without a read; with *failures*, those that may have some
    are read. *rate*: read units a second, all executors together.
    """
    taken_at, batch = datetime.now(UTC), tables.store.get(key)
    branches = branches_of(batch) if batch else []
    paced = slots_of(spark).paced(len(branches) + 1, rate)
    numbers = spark.range(0, len(branches) + 1, 1, paced.tasks)
    task = partial(
        _read_branches, tables=tables, batch=batch, branches=branches, failures=failures, rate=paced.rate
    )
    return TableSnapshot(taken_at, numbers.mapInArrow(task, schemas.ROWS))


def _read_branches(
    numbers: Iterator[pa.RecordBatch],
    tables: Tables,
    batch: Batch | None,
    branches: Sequence[Branch],
    failures: bool,
    rate: float | None,
) -> Iterator[pa.RecordBatch]:
    """Yield ROWS of each branch by its number; number 0 stands for the row of the batch."""
    if batch is None:
        return
    for number in (number for some in numbers for number in some.column(0).to_pylist()):
        if number:
            pages = read_branch(tables.store, batch.key, branches[number - 1], failures, rate)
            yield from _batches({"page": page} for page in pages)
        else:
            yield from _batches([{"batch": facts_of(batch)}])


def _read_files(files: Iterator[pa.RecordBatch], about: str | None) -> Iterator[pa.RecordBatch]:
    named = (DataFile(file["path"], file["items"]) for batch in files for file in batch.to_pylist())
    return _batches(row_of(line) for file in named for line in export.lines(file, about))


def _scan_parts(
    numbers: Iterator[pa.RecordBatch], parts: Sequence[Segment], about: str | None
) -> Iterator[pa.RecordBatch]:
    chosen = (parts[number] for batch in numbers for number in batch.column(0).to_pylist())
    found = (Line(location(part, item), item) for part in chosen for item in scan(part, about))
    return _batches(row_of(line) for line in found)


def _batches(rows: Iterable[Facts]) -> Iterator[pa.RecordBatch]:
    """Yield *rows* as Arrow batches, without the empty ones."""
    schema = to_arrow_schema(schemas.ROWS)
    kept = (row for row in rows if any(row.values()))
    while some := list(islice(kept, ROWS_A_BATCH)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)
