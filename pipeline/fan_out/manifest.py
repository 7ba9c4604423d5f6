"""The write-once manifest, which makes a row's number its identity.

A number assigned in the stage that sends is not an identity: a second attempt of a task may read its rows in
another order, and one id then names two rows. So the numbers are written first, and only written rows are
sent. The manifest also holds the id of its run, from which the idempotency keys of the job are derived: a
job that is started again with the same manifest finds its batch and its group again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.engine_without_spark import pieces
from pipeline.fan_out.messages import number_rows, part_sizes, with_positions
from pipeline.fan_out.parts import (
    COLUMNS,
    NUMBERS,
    Label,
    Part,
    check_total,
    checked,
    counted,
    label_of,
    place,
    starts,
)
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.output import is_committed, refuse_foreign, require_committed

_WRITING = {
    "compression": "zstd",
    # Hardly two rows are equal, and the writer would look each up.
    "parquet.enable.dictionary#record": "false",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed manifest; *rows* has the columns part, ord and record, as JSON."""

    label: Label
    rows: DataFrame


def write(dataset: DataFrame, path: str, *, run: str, source: str) -> None:
    """Number the rows of *dataset* and commit them to *path*, replacing an uncommitted write.

    Raises NotOurs if *path* holds anything else.
    """
    refuse_foreign(dataset.sparkSession, path, COLUMNS)
    numbered = number_rows(dataset).withMetadata("part", Label(run, source).own)
    numbered.write.mode("overwrite").options(**_WRITING).parquet(path)
    require_committed(path)


def load(spark: SparkSession, path: str) -> Manifest:
    """Return the manifest committed at *path*. Raises NoManifest."""
    rows = spark.read.parquet(path)
    label = label_of(rows.schema.json(), path)
    if label.messages and is_committed(label.messages):
        saved = spark.read.parquet(label.messages).where("copy = 1")
        rows = saved.selectExpr("0 AS part", "position AS ord", "record")
    return Manifest(label, rows)


def measure(rows: DataFrame) -> list[Part]:
    """Return the parts of a manifest with their bytes, in order. Raises Damaged."""
    found = part_sizes(rows).collect()
    return checked((Part(row.part, row.rows, row.bytes, row.widest), row.last) for row in found)


def count(manifest: Manifest) -> list[Part]:
    """Return the parts of a manifest as it was loaded, in order, by the footers of its files. Raises Damaged.

    If the footers have no statistics, or several parts in a row group, as of another writer, rows are read.
    """
    rows = manifest.rows
    footers = pieces.footers([unquote(uri) for uri in rows.inputFiles()], NUMBERS)
    found = counted([group for footer in footers for group in footer.statistics])
    parts = _count_rows(rows) if found is None else found
    check_total(manifest.label, sum(part.rows for part in parts))
    return parts


def _count_rows(rows: DataFrame) -> list[Part]:
    """Return the parts of a manifest from its rows without their records. Raises Damaged."""
    found = rows.groupBy("part").agg(F.count("*").alias("rows"), F.max("ord").alias("last")).collect()
    return checked((Part(row.part, row.rows), row.last) for row in found)


def between(manifest: Manifest, parts: Sequence[Part], ranges: Sequence[tuple[int, int]]) -> Manifest:
    """Return *manifest* with only the rows whose positions are in *ranges*: (first, last), both inclusive.

    The condition compares the columns as they are stored, so that Parquet reads no row group and no page
    without such a row; it is evaluated for each row that is read, so ranges should be few. *parts* are all
    parts of the manifest, in order.
    """
    before = starts(parts)
    conditions = [_condition(place(before, first), place(before, last)) for first, last in ranges]
    return replace(manifest, rows=manifest.rows.where(" OR ".join(conditions) or "false"))


def _condition(first: tuple[int, int], last: tuple[int, int]) -> str:
    """Return the SQL condition of the rows from *first* to *last*, each a part and an ord."""
    (low, low_ord), (high, high_ord) = first, last
    if low == high:
        return f"(part = {low} AND ord >= {low_ord} AND ord <= {high_ord})"
    ends = f"(part = {low} AND ord >= {low_ord}) OR (part = {high} AND ord <= {high_ord})"
    return f"({ends} OR (part > {low} AND part < {high}))"


def positions(manifest: Manifest, parts: Sequence[Part]) -> DataFrame:
    """Return every row with its position, 0 to N - 1."""
    table = manifest.rows.sparkSession.createDataFrame(starts(parts), schemas.STARTS)
    return with_positions(manifest.rows, table)
