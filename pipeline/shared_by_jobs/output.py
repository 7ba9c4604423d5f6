"""What a job may overwrite: nothing, or what an earlier write of the same kind left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HIDDEN = ("_", ".")
"""First characters of the names of files that Spark keeps beside its data."""
_PART = "part-"
COMMITTED = "_SUCCESS"


class AlreadyThere(ValueError):
    """An earlier job committed its output to this path."""


class NotOurs(ValueError):
    """The job would delete files that it did not write; the message names them."""


def is_committed(spark: SparkSession, path: str) -> bool:
    """Return whether the job that wrote *path* committed its output."""
    system, folder = _located(spark, path)
    return bool(system.exists(_path(spark, folder, COMMITTED)))


def refuse_committed(spark: SparkSession, path: str) -> None:
    """Raise AlreadyThere if a job committed output to *path*; an uncommitted write may be replaced."""
    check_uncommitted(path, is_committed(spark, path))


def refuse_foreign(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs unless *path* is empty or holds Parquet files of a job with these *columns*."""
    check_own(path, _names(spark, path), lambda: _columns(spark, path), columns)


def check_uncommitted(path: str, has_output: bool) -> None:
    """Raise AlreadyThere if the folder *path* has committed output."""
    if has_output:
        raise AlreadyThere(f"{path} holds the output of an earlier run: name another --out")


def check_own(
    path: str, found: Sequence[str], read: Callable[[], list[str] | None], columns: Sequence[str]
) -> None:
    """Raise NotOurs unless the names *found* at *path* are those of Parquet files with these *columns*.

    *read* returns the columns of the files, or None if they are no Parquet files.
    """
    names = [name for name in found if not name.startswith(_HIDDEN)]
    foreign = next((name for name in names if not name.startswith(_PART)), None)
    if foreign is None and names and read() != list(columns):
        foreign = names[0]
    if foreign is not None:
        raise NotOurs(f"{path} holds {foreign}, which this job did not write: name another path")


def _names(spark: SparkSession, path: str) -> list[str]:
    """Return the names in the folder *path*, or its own name if it is a file; none if nothing is there."""
    system, folder = _located(spark, path)
    if not system.exists(folder):
        return []
    return [status.getPath().getName() for status in system.listStatus(folder)]


def _located(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of *path*, and the path as Hadoop takes it."""
    folder = _path(spark, path)
    return folder.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), folder


def _path(spark: SparkSession, *parts: Any) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(*parts)


def _columns(spark: SparkSession, path: str) -> list[str] | None:
    from pipeline.shared_by_jobs.session import FAILURES  # noqa: PLC0415  # with Spark it takes a second

    try:
        return spark.read.parquet(path).columns
    except FAILURES:
        return None
