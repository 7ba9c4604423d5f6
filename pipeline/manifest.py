"""The write-once manifest: the one place where a row's number becomes its identity.

Ids computed in the stage that sends are not an identity: a second attempt of a task may meet its rows in
another order, and one id then stands for two rows. So the numbers are written first, and only what is
written is sent. The manifest also carries the run's id, from which the idempotency keys of a job are
made: a job that is started again over the same manifest finds its batch and its group again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipeline import schemas
from pipeline.overwriting import refuse_foreign
from pipeline.transforms import number_rows, part_sizes, with_positions

COLUMNS = ("part", "ord", "record")
_RUN = "fanin.run"
_SOURCE = "fanin.source"

_WRITING = {
    "compression": "zstd",
    # Delta encoding: the numbers take next to no space.
    "parquet.writer.version": "PARQUET_2_0",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}


class AlreadyThere(ValueError):
    """A job that went before has committed what it found at this path."""


class NoManifest(ValueError):
    """What is committed at this path is something else."""


class Damaged(ValueError):
    """Files of a manifest are lost, or are there twice: its numbers are no identities any more."""


class AnotherSource(ValueError):
    """The manifest at this path was written from another dataset."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed manifest; *rows* has the columns part, ord and record."""

    run: str
    rows: DataFrame


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a manifest holds; *size* and *widest* in bytes of JSON, 0 where only rows count."""

    number: int
    rows: int
    size: int = 0
    widest: int = 0


def is_committed(spark: SparkSession, path: str) -> bool:
    """Whether the job that wrote *path* came to its end; a write that died leaves no mark."""
    jvm: Any = spark._jvm
    mark = jvm.org.apache.hadoop.fs.Path(path, "_SUCCESS")
    return bool(mark.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(mark))


def refuse_committed(spark: SparkSession, path: str) -> None:
    """Raise AlreadyThere where a job has committed its outcome to *path*; what a dead write left may go."""
    if is_committed(spark, path):
        raise AlreadyThere(f"{path} holds what was found before; name another --out")


def write(dataset: DataFrame, path: str, *, run: str, source: str) -> None:
    """Number the rows of *dataset* and commit them to *path*, over what a dead write may have left.

    Raises NotOurs where something else is there.
    """
    refuse_foreign(dataset.sparkSession, path, COLUMNS)
    label = {_RUN: run, _SOURCE: source}
    numbered = number_rows(dataset).withColumn("part", F.col("part").alias("part", metadata=label))
    numbered.write.mode("overwrite").options(**_WRITING).parquet(path)


def load(spark: SparkSession, path: str) -> tuple[Manifest, str]:
    """The manifest committed at *path*, and the source it was written from. Raises NoManifest."""
    rows = spark.read.parquet(path)
    label = rows.schema["part"].metadata if rows.columns == list(COLUMNS) else {}
    if not {_RUN, _SOURCE} <= label.keys():
        raise NoManifest(f"{path} holds no manifest of fan_out: name another --manifest")
    return Manifest(label[_RUN], rows), label[_SOURCE]


def ensure(
    spark: SparkSession, path: str, read: Callable[[], DataFrame], *, run: str, source: str
) -> Manifest:
    """The manifest at *path*, written from *read* under the id *run* unless one is committed there.

    Raises AnotherSource where the one committed there does not come from *source*.
    """
    if not is_committed(spark, path):
        write(read(), path, run=run, source=source)
    manifest, written_from = load(spark, path)
    if written_from != source:
        raise AnotherSource(f"{path} holds {written_from}, not {source}: name another --manifest")
    return manifest


def measure(rows: DataFrame) -> list[Part]:
    """The parts of a manifest, in order. Raises Damaged."""
    found = part_sizes(rows).collect()
    _check_numbers(found)
    return sorted((Part(r.part, r.rows, r.bytes, r.widest) for r in found), key=lambda part: part.number)


def count(rows: DataFrame) -> list[Part]:
    """The parts of a manifest, in order, without their bytes: no record is read. Raises Damaged."""
    counted = rows.groupBy("part").agg(F.count("*").alias("rows"), F.max("ord").alias("last"))
    found = counted.collect()
    _check_numbers(found)
    return sorted((Part(r.part, r.rows) for r in found), key=lambda part: part.number)


def _check_numbers(parts: Sequence[Row]) -> None:
    """Raise Damaged unless the rows of each part may be numbered from 0 on, each number once."""
    for part in parts:
        if part.rows != part.last + 1:
            raise Damaged(
                f"part {part.part} of the manifest has {part.rows} rows, numbered from 0 to {part.last}:"
                " files of it are lost or are there twice; name another --manifest"
            )


def starts(parts: list[Part]) -> list[tuple[int, int]]:
    """(part, start): the rows before each part."""
    before = accumulate((part.rows for part in parts), initial=0)
    return [(part.number, start) for part, start in zip(parts, before, strict=False)]


def positions(manifest: Manifest, parts: list[Part]) -> DataFrame:
    """Every row with its position, 0 to N - 1."""
    table = manifest.rows.sparkSession.createDataFrame(starts(parts), schemas.STARTS)
    return with_positions(manifest.rows, table)
