"""What a job may overwrite: nothing, or what an earlier write of the same kind left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from pipeline.shared_by_jobs.session import FAILURES

_HIDDEN = ("_", ".")
"""First characters of the names of files that Spark keeps beside its data."""
_PART = "part-"
_COMMITTED = "_SUCCESS"


class AlreadyThere(ValueError):
    """An earlier job committed its output to this path."""


class NotOurs(ValueError):
    """The job would delete files that it did not write; the message names them."""


def is_committed(spark: SparkSession, path: str) -> bool:
    """Return whether the job that wrote *path* committed its output."""
    system, folder = _located(spark, path)
    return bool(system.exists(_path(spark, folder, _COMMITTED)))


def refuse_committed(spark: SparkSession, path: str) -> None:
    """Raise AlreadyThere if a job committed output to *path*; an uncommitted write may be replaced."""
    if is_committed(spark, path):
        raise AlreadyThere(f"{path} holds the output of an earlier run: name another --out")


def refuse_foreign(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs unless *path* is empty or holds Parquet files written by Spark with these *columns*."""
    names = [name for name in _names(spark, path) if not name.startswith(_HIDDEN)]
    foreign = next((name for name in names if not name.startswith(_PART)), None)
    if foreign is None and names and _columns(spark, path) != list(columns):
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
    try:
        return spark.read.parquet(path).columns
    except FAILURES:
        return None
