"""The tracker's tables as frames, from point-in-time exports or from the live tables.

    told = pages.from_exports(spark, ["s3://bucket/AWSDynamoDB/0123-abcd", ...])
    told = pages.from_tables(spark, Tables("Batches", "Pages"), rate=500)
    told.pages, told.batches, told.malformed

Neither is one instant of all rows: an export may hold a part of what a transaction wrote, and a Scan sees
each row at a time of its own. A row is never seen in parts.
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

from pipeline import export, schemas
from pipeline.export import DataFile, Line
from pipeline.rows import Facts, MalformedRow, read_row
from pipeline.scanning import Segment, scan
from pipeline.tables import Tables

ROWS_A_BATCH = 1000
SEGMENTS_A_SLOT = 4
"""Parts of a table a core: a part that is larger than the others keeps one core waiting, not all."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a source says of the tables as they were at *taken_at*; *rows* is read once for each frame."""

    taken_at: datetime
    rows: DataFrame

    @property
    def pages(self) -> DataFrame:
        """PAGES."""
        return self.rows.where("page IS NOT NULL").select("page.*")

    @property
    def batches(self) -> DataFrame:
        """BATCHES."""
        return self.rows.where("batch IS NOT NULL").select("batch.*")

    @property
    def malformed(self) -> DataFrame:
        """(place, problem): rows that the tracker cannot have written, and files that lack rows."""
        return self.rows.where("problem IS NOT NULL").select("place", "problem")


def from_exports(spark: SparkSession, roots: Sequence[str], batch_id: str | None = None) -> Told:
    """What the exports in the folders *roots* hold, of one batch or of all. Raises NotAnExport."""
    found = [export.describe(root) for root in roots]
    files = [(file.path, file.items) for each in found for file in each.files]
    frame = spark.createDataFrame(files, "path string, items long").repartition(max(1, len(files)))
    rows = frame.mapInArrow(partial(_read_files, about=batch_id), schemas.ROWS)
    return Told(min(each.taken_at for each in found), rows)


def from_tables(
    spark: SparkSession, tables: Tables, batch_id: str | None = None, rate: float | None = None
) -> Told:
    """What a parallel Scan finds now, of one batch or of all.

    *rate*: read units a second, all executors together; each gets its share.
    """
    slots = spark.sparkContext.defaultParallelism
    of = slots * SEGMENTS_A_SLOT
    share = rate / slots if rate else None
    names = (tables.batches, tables.pages)
    parts = [Segment(tables, name, number, of, share) for name in names for number in range(of)]
    numbers = spark.range(0, len(parts), 1, len(parts))
    rows = numbers.mapInArrow(partial(_scan_parts, parts=parts, about=batch_id), schemas.ROWS)
    return Told(datetime.now(UTC), rows)


def _read_files(files: Iterator[pa.RecordBatch], about: str | None) -> Iterator[pa.RecordBatch]:
    named = (DataFile(file["path"], file["items"]) for batch in files for file in batch.to_pylist())
    return _batches(_row(line) for file in named for line in export.lines(file, about))


def _scan_parts(
    numbers: Iterator[pa.RecordBatch], parts: Sequence[Segment], about: str | None
) -> Iterator[pa.RecordBatch]:
    chosen = (parts[number] for batch in numbers for number in batch.column(0).to_pylist())
    found = (Line(_place(part, item), item) for part in chosen for item in scan(part, about))
    return _batches(_row(line) for line in found)


def _place(part: Segment, item: Facts) -> str:
    return f"{part.table} {item.get('pk', {}).get('S')}"


def _row(line: Line) -> Facts:
    """A row of ROWS."""
    if line.item is None:
        return {"place": line.place, "problem": line.problem}
    try:
        page, batch = read_row(line.item)
    except MalformedRow as error:
        return {"place": line.place, "problem": str(error)}
    return {"page": page, "batch": batch}


def _batches(rows: Iterable[Facts]) -> Iterator[pa.RecordBatch]:
    """*rows* as Arrow takes them, without those that say nothing."""
    schema = to_arrow_schema(schemas.ROWS)
    telling = (row for row in rows if any(row.values()))
    while some := list(islice(telling, ROWS_A_BATCH)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)
