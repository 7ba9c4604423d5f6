"""What a job may overwrite: nothing, or what an earlier write of the same kind left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyarrow.fs import FileSelector, FileSystem, FileType

from pipeline.shared_by_jobs.files import as_spark_names, located

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


class NotSeen(ValueError):
    """Spark finds a path elsewhere than this process, or this process does not find it at all."""


def is_committed(path: str) -> bool:
    """Return whether the job that wrote *path* committed its output."""
    system, folder = place_of(path)
    return bool(system.get_file_info(f"{folder.rstrip('/')}/{COMMITTED}").type == FileType.File)


def refuse_committed(path: str) -> None:
    """Raise AlreadyThere if a job committed output to *path*; an uncommitted write may be replaced."""
    if is_committed(path):
        raise AlreadyThere(f"{path} holds the output of an earlier run: name another --out")


def require_committed(path: str) -> None:
    """Raise NotSeen if what Spark just committed to *path* is not there for this process."""
    if not is_committed(path):
        raise NotSeen(f"Spark wrote {path} where this process does not find it: {_BOTH}")


def refuse_foreign(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs unless *path* is empty or holds Parquet files written by Spark with these *columns*.

    Raises NotSeen if Spark finds files there that this process does not.
    """
    if not check_own(path, lambda: _columns(spark, path), columns) and _columns(spark, path) is not None:
        raise NotSeen(f"Spark finds files in {path}, and this process does not: {_BOTH}")


def check_own(path: str, read: Callable[[], list[str] | None], columns: Sequence[str]) -> list[str]:
    """Return the names of the files at *path*. Raises NotOurs unless they are Parquet with these *columns*.

    *read* returns the columns of the files, or None if they are no Parquet files.
    """
    names = [name for name in _names(path) if not name.startswith(_HIDDEN)]
    foreign = next((name for name in names if not name.startswith(_PART)), None)
    if foreign is None and names and read() != list(columns):
        foreign = names[0]
    if foreign is not None:
        raise NotOurs(f"{path} holds {foreign}, which this job did not write: name another path")
    return names


_BOTH = "name a path that both have, such as s3://BUCKET/PATH"


def _names(path: str) -> list[str]:
    """Return the names in the folder *path*, or its own name if it is a file; none if nothing is there."""
    system, folder = place_of(path)
    found = system.get_file_info(folder)
    if found.type == FileType.File:
        return [found.base_name]
    return [each.base_name for each in system.get_file_info(FileSelector(folder, allow_not_found=True))]


def place_of(path: str) -> tuple[FileSystem, str]:
    """Return the file system of *path*, and the path within it; a query is of Arrow's notation."""
    try:
        return located(path) if "://" in path and "?" in path else as_spark_names(path.rstrip("/"))
    except OSError as error:
        raise NotSeen(f"{path}: {error}") from error


def _columns(spark: SparkSession, path: str) -> list[str] | None:
    from pipeline.shared_by_jobs.session import FAILURES  # noqa: PLC0415  # with Spark it takes a second

    try:
        return spark.read.parquet(path).columns
    except FAILURES:
        return None
