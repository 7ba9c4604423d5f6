"""Commits Parquet files as Spark's jobs do: a reader sees whole files, and ``_SUCCESS`` after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from pipeline.shared_by_jobs.output import COMMITTED, check_own, place_of

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
    system, folder = place_of(path)
    system.create_dir(folder)
    system.delete_dir_contents(folder)


@contextmanager
def writing(
    path: str, name: str, schema: pa.Schema, **options: Any
) -> Iterator[tuple[str, pq.ParquetWriter]]:
    """Yield a writer of a file in the folder *path* that no reader sees, and its name for `publish`.

    *name*: differs for each attempt of a task: readers skip what a crash leaves.
    """
    system, folder = place_of(path)
    hidden = f"_part-{name}.{COMPRESSION}.parquet"
    with (
        system.open_output_stream(f"{folder}/{hidden}") as sink,
        pq.ParquetWriter(sink, schema, compression=COMPRESSION, **options) as file,
    ):
        yield hidden, file


def publish(path: str, names: Sequence[str]) -> None:
    """Commit the files *names* as the output at *path*; those of other attempts are deleted."""
    system, folder = place_of(path)
    for name in names:
        system.move(f"{folder}/{name}", f"{folder}/{name.removeprefix('_')}")
    for info in system.get_file_info(FileSelector(folder)):
        if info.base_name.startswith("_part-"):
            system.delete_file(info.path)
    with system.open_output_stream(f"{folder}/{COMMITTED}"):
        pass


def refuse_foreign(path: str, columns: Sequence[str]) -> None:
    """Raise NotOurs unless *path* is empty or holds Parquet files of a job with these *columns*."""
    check_own(path, lambda: _columns(path), columns)


def _columns(path: str) -> list[str] | None:
    system, folder = place_of(path)
    info = system.get_file_info(folder)
    found = [info] if info.type == FileType.File else system.get_file_info(FileSelector(folder))
    file = next(each.path for each in found if each.base_name.startswith("part-"))
    try:
        with system.open_input_file(file) as source:
            names: list[str] = pq.read_schema(source).names
            return names
    except (OSError, pa.ArrowException):
        return None
