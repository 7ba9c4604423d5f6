"""The write-once manifest, which makes a row's number its identity.

A number assigned in the stage that sends is not an identity: a second attempt of a task may read its rows in
another order, and one id then names two rows. So the numbers are written first, and only written rows are
sent. The manifest also holds the id of its run, from which the idempotency keys of the job are derived: a
job that is started again with the same manifest finds its batch and its group again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipeline.fan_out import footers
from pipeline.fan_out.footers import RowGroup
from pipeline.fan_out.messages import number_rows, part_sizes, with_positions
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.output import is_committed, refuse_foreign, require_committed

NUMBERS = ("part", "ord")
COLUMNS = (*NUMBERS, "record")
_RUN = "fanin.run"
_SOURCE = "fanin.source"

_WRITING = {
    "compression": "zstd",
    # Version 2 delta-encodes the numbers, which then take almost no space.
    "parquet.writer.version": "PARQUET_2_0",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}


class NoManifest(ValueError):
    """The output committed at this path is not a manifest."""


class Damaged(ValueError):
    """Files of a manifest are missing or duplicated, so its numbers are no longer identities."""


class AnotherSource(ValueError):
    """The manifest at this path was written from another dataset."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed manifest; *rows* has the columns part, ord and record."""

    run: str
    rows: DataFrame


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of one part of a manifest; *size* and *widest* in bytes of JSON, 0 if not measured."""

    number: int
    rows: int
    size: int = 0
    widest: int = 0


def write(dataset: DataFrame, path: str, *, run: str, source: str) -> None:
    """Number the rows of *dataset* and commit them to *path*, replacing an uncommitted write.

    Raises NotOurs if *path* holds anything else.
    """
    refuse_foreign(dataset.sparkSession, path, COLUMNS)
    label = {_RUN: run, _SOURCE: source}
    numbered = number_rows(dataset).withMetadata("part", label)
    numbered.write.mode("overwrite").options(**_WRITING).parquet(path)


def load(spark: SparkSession, path: str) -> tuple[Manifest, str]:
    """Return the manifest committed at *path*, and the source it was written from. Raises NoManifest."""
    rows = spark.read.parquet(path)
    label = rows.schema["part"].metadata if rows.columns == list(COLUMNS) else {}
    if not {_RUN, _SOURCE} <= label.keys():
        raise NoManifest(f"{path} holds no manifest of fan_out: name another --manifest")
    return Manifest(label[_RUN], rows), label[_SOURCE]


def ensure(
    spark: SparkSession, path: str, read: Callable[[], DataFrame], *, run: str, source: str
) -> Manifest:
    """Return the manifest at *path*; if none is committed there, write it from *read* with the id *run*.

    Raises AnotherSource if the committed one was not written from *source*.
    """
    if not is_committed(path):
        write(read(), path, run=run, source=source)
        require_committed(path)
    manifest, written_from = load(spark, path)
    if written_from != source:
        raise AnotherSource(f"{path} holds {written_from}, not {source}: name another --manifest")
    return manifest


def measure(rows: DataFrame) -> list[Part]:
    """Return the parts of a manifest with their bytes, in order. Raises Damaged."""
    found = part_sizes(rows).collect()
    _check_numbers(found)
    return sorted((Part(r.part, r.rows, r.bytes, r.widest) for r in found), key=lambda part: part.number)


def count(manifest: Manifest) -> list[Part]:
    """Return the parts of a manifest as it was loaded, in order, by the footers of its files. Raises Damaged.

    If the footers have no statistics, or several parts in a row group, as of another writer, rows are read.
    """
    rows = manifest.rows
    groups = footers.row_groups(rows.inputFiles(), NUMBERS)
    found = _counted(groups) if all(map(_is_of_one_part, groups)) else _count_rows(rows)
    _check_numbers(found)
    return sorted((Part(r.part, r.rows) for r in found), key=lambda part: part.number)


def _is_of_one_part(group: RowGroup) -> bool:
    """Return whether the statistics of *group* have both numbers, and one part."""
    return len(group.values) == len(NUMBERS) and len(set(group.values["part"])) == 1


def _counted(groups: Sequence[RowGroup]) -> list[Row]:
    """Return (part, rows, last) of each part in row groups of one part each."""
    rows: Counter[int] = Counter()
    last: dict[int, int] = {}
    for group in groups:
        (part, _), (_, ord_) = group.values["part"], group.values["ord"]
        rows[part] += group.rows
        last[part] = max(ord_, last.get(part, 0))
    return [Row(part=part, rows=rows[part], last=last[part]) for part in rows]


def _count_rows(rows: DataFrame) -> list[Row]:
    """Return (part, rows, last) of each part, from its rows without their records."""
    return rows.groupBy("part").agg(F.count("*").alias("rows"), F.max("ord").alias("last")).collect()


def _check_numbers(parts: Sequence[Row]) -> None:
    """Raise Damaged unless each part has as many rows as its last number requires."""
    for part in parts:
        if part.rows != part.last + 1:
            raise Damaged(
                f"part {part.part} of the manifest has {part.rows} rows, numbered from 0 to {part.last}:"
                " files of it are missing or duplicated; name another --manifest"
            )


def starts(parts: list[Part]) -> list[tuple[int, int]]:
    """Return (part, start): the number of rows before each part."""
    before = accumulate((part.rows for part in parts), initial=0)
    return [(part.number, start) for part, start in zip(parts, before, strict=False)]


def between(manifest: Manifest, parts: list[Part], ranges: Sequence[tuple[int, int]]) -> Manifest:
    """Return *manifest* with only the rows whose positions are in *ranges*: (first, last), both inclusive.

    The condition compares the columns as they are stored, so that Parquet reads no row group and no page
    without such a row; it is evaluated for each row that is read, so ranges should be few. *parts* are all
    parts of the manifest, in order.
    """
    before = starts(parts)
    conditions = [_condition(_place(before, first), _place(before, last)) for first, last in ranges]
    return replace(manifest, rows=manifest.rows.where(" OR ".join(conditions) or "false"))


def _place(starts: Sequence[tuple[int, int]], position: int) -> tuple[int, int]:
    """Return the part and the ord of the row at *position*."""
    part, start = starts[bisect_right(starts, position, key=lambda each: each[1]) - 1]
    return part, position - start


def _condition(first: tuple[int, int], last: tuple[int, int]) -> str:
    """Return the SQL condition of the rows from *first* to *last*, each a part and an ord."""
    (low, low_ord), (high, high_ord) = first, last
    if low == high:
        return f"(part = {low} AND ord >= {low_ord} AND ord <= {high_ord})"
    ends = f"(part = {low} AND ord >= {low_ord}) OR (part = {high} AND ord <= {high_ord})"
    return f"({ends} OR (part > {low} AND part < {high}))"


def positions(manifest: Manifest, parts: list[Part]) -> DataFrame:
    """Return every row with its position, 0 to N - 1."""
    table = manifest.rows.sparkSession.createDataFrame(starts(parts), schemas.STARTS)
    return with_positions(manifest.rows, table)
