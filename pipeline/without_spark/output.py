"""Commits Parquet files as Spark's jobs do: a reader sees whole files, and ``_SUCCESS`` after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from pipeline.shared_by_jobs.files import as_spark_names, located, whole
from pipeline.shared_by_jobs.output import COMMITTED, check_own

COMPRESSION = "zstd"


def commit(path: str, schema: pa.Schema, found: Iterable[pa.RecordBatch]) -> None:
    """Save *found* as the one file of the folder *path*, in place of what is there."""
    clear(path)
    with writing(path, "0", schema) as (name, file):
        for batch in found:
            file.write_batch(batch)
    publish(path, [name])


def clear(path: str) -> None:
    """Make *path* an empty folder."""
    system, folder = _located(path)
    system.create_dir(folder)
    system.delete_dir_contents(folder)


@contextmanager
def writing(
    path: str, name: str, schema: pa.Schema, **options: Any
) -> Iterator[tuple[str, pq.ParquetWriter]]:
    """Yield a writer of a file in the folder *path* that no reader sees, and its name for `publish`.

    *name*: differs for each attempt of a task: readers skip what a crash leaves.
    """
    system, folder = _located(path)
    hidden = f"_part-{name}.{COMPRESSION}.parquet"
    with (
        system.open_output_stream(f"{folder}/{hidden}") as sink,
        pq.ParquetWriter(sink, schema, compression=COMPRESSION, **options) as file,
    ):
        yield hidden, file


def publish(path: str, names: Sequence[str]) -> None:
    """Commit the files *names* as the output at *path*; those of other attempts are deleted."""
    system, folder = _located(path)
    for name in names:
        system.move(f"{folder}/{name}", f"{folder}/{name.removeprefix('_')}")
    for info in system.get_file_info(FileSelector(folder)):
        if info.base_name.startswith("_part-"):
            system.delete_file(info.path)
    with system.open_output_stream(f"{folder}/{COMMITTED}"):
        pass


def is_committed(path: str) -> bool:
    """Return whether the job that wrote *path* committed its output."""
    system, folder = _located(path)
    return bool(system.get_file_info(f"{folder}/{COMMITTED}").type == FileType.File)


def refuse_foreign(path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs unless *path* is empty or holds Parquet files of a job with these *columns*."""
    system, folder = _located(path)
    info = system.get_file_info(folder)
    found = (
        system.get_file_info(FileSelector(folder, allow_not_found=True))
        if info.type != FileType.File
        else [info]
    )
    check_own(path, [each.base_name for each in found], lambda: _columns(system, found), columns)


def _columns(system: pyarrow.fs.FileSystem, found: Sequence[pyarrow.fs.FileInfo]) -> list[str] | None:
    file = next(each.path for each in found if each.base_name.startswith("part-"))
    try:
        with system.open_input_file(file) as source:
            names: list[str] = pq.read_schema(source).names
            return names
    except (OSError, pa.ArrowException):
        return None


def _located(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of *path*, and the path within it; a query is of Arrow's notation."""
    return located(path) if "://" in path and "?" in path else as_spark_names(whole(path))
