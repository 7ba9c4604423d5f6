"""What a job may write over: nothing, and what a write of the same kind left. Anything else is somebody's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from pipeline.failing import FAILURES

_HIDDEN = ("_", ".")
"""How the names begin of what Spark keeps beside its data."""
_PART = "part-"


class NotOurs(ValueError):
    """A job would delete what it did not write; the message says where that is."""


def refuse_foreign(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs where *path* holds anything but Parquet of Spark's with just these *columns*."""
    names = [name for name in _names(spark, path) if not name.startswith(_HIDDEN)]
    strange = next((name for name in names if not name.startswith(_PART)), None)
    if strange is None and names and _columns(spark, path) != list(columns):
        strange = names[0]
    if strange is not None:
        raise NotOurs(f"{path} holds {strange}, which this job did not write: name another place")


def _names(spark: SparkSession, path: str) -> list[str]:
    """The names in the folder *path*, or its own where it is a file; none where nothing is there."""
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if not system.exists(place):
        return []
    return [status.getPath().getName() for status in system.listStatus(place)]


def _columns(spark: SparkSession, path: str) -> list[str] | None:
    try:
        return spark.read.parquet(path).columns
    except FAILURES:
        return None
