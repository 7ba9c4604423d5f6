"""Commits Parquet files as Spark's jobs do: a reader sees a whole file, and ``_SUCCESS`` after it."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.shared_by_jobs.files import located

_PART = "part-00000.zstd.parquet"


def commit(path: str, schema: pa.Schema, found: Iterable[pa.RecordBatch]) -> None:
    """Save *found* as the one file of the folder *path*, in place of what is there."""
    system, folder = located(path)
    system.create_dir(folder)
    system.delete_dir_contents(folder)
    # Readers skip hidden names: what a crash leaves here is no part of the result.
    hidden = f"{folder}/_{_PART}"
    with (
        system.open_output_stream(hidden) as sink,
        pq.ParquetWriter(sink, schema, compression="zstd") as file,
    ):
        for batch in found:
            file.write_batch(batch)
    system.move(hidden, f"{folder}/{_PART}")
    with system.open_output_stream(f"{folder}/_SUCCESS"):
        pass
