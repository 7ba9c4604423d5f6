"""Writes the same ack log by Spark, pyarrow, DuckDB and Polars, as files of a test.

``pip install duckdb polars``, then ``python -m tests.pipeline.compiled_fold.other_writers``. A file is named
by its writer and what differs from the writer's defaults.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fanin.tracker import GroupId, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore

FOLDER = Path(__file__).parent / "written"
TENANT = "tenant"
BATCH, SALT = "4f1c1c8e-7a54-4bd5-9d4e-3a2f1f0c7b11", bytes(range(16))
SIZE = 3000
HEAD = f"{BATCH}:{GroupId.make(SALT, BATCH, 0, SIZE)}:"
ROWS = 160
FALLBACK = {"dictionary_pagesize_limit": 900, "data_page_size": 1800, "write_batch_size": 8}
"""A dictionary that is full after some rows, and pages of some: as a large log has them."""
PYARROW: Mapping[str, dict[str, Any]] = {
    "defaults": {},
    "fallback": FALLBACK,
    "fallback-zstd-groups": {**FALLBACK, "compression": "zstd", "row_group_size": 50},
    "fallback-pages-2": {**FALLBACK, "data_page_version": "2.0"},
    "plain-gzip": {"use_dictionary": False, "compression": "gzip"},
    "plain-none": {"use_dictionary": False, "compression": "none"},
    "delta-length": {"use_dictionary": False, "column_encoding": {"item_id": "DELTA_LENGTH_BYTE_ARRAY"}},
    "delta": {"use_dictionary": False, "column_encoding": {"item_id": "DELTA_BYTE_ARRAY"}},
}
SPARK: Mapping[str, dict[str, str]] = {
    "defaults": {},
    "plain-snappy-pages": {"parquet.page.size": "1800", "parquet.page.row.count.limit": "30"},
    "dictionary-gzip": {"compression": "gzip", "parquet.enable.dictionary": "true"},
    "delta": {"parquet.writer.version": "v2", "parquet.enable.dictionary": "false"},
    "none": {"compression": "none"},
}
DUCKDB = {"defaults": "", "zstd": ", CODEC zstd", "version-2": ", PARQUET_VERSION V2"}
POLARS: Mapping[str, dict[str, Any]] = {
    "defaults": {},
    "snappy-groups": {"compression": "snappy", "row_group_size": 60},
    "none-pages": {"compression": "uncompressed", "data_page_size": 1800},
}


def store() -> MemoryStore:
    """The tracker's store, with the batch of the log."""
    found = MemoryStore()
    batch = Tracker(found).open(TENANT, OpenBatch())
    (opened,) = found.batches.values()
    found.batches.clear()
    found.create(replace(opened, batch_id=BATCH, salt=SALT, total=SIZE))
    assert batch
    return found


def rows() -> pa.Table:
    """Acks, a third of them repeated in runs, with nulls and ids that are of no item; and one of no row."""
    random = Random(0)
    ids: list[str | None] = [f"{HEAD}{random.randrange(SIZE)}" for _ in range(ROWS)]
    for at in range(0, ROWS, 3):
        ids[at] = ids[max(0, at - random.randrange(9))]
    for at in range(0, ROWS, 7):
        wrong = [
            None,
            "",
            "rubbish",
            f"{HEAD}{SIZE}",
            f"{HEAD}01",
            f"{HEAD} 1",
            "é" * 60,
            "0" * 8 + HEAD[8:] + "1",
        ]
        ids[at] = random.choice(wrong)
    outcomes = random.choices(["success", "failure", None, "other"], [8, 2, 3, 1], k=ROWS)
    return pa.table({"item_id": ids, "outcome": outcomes})


def by_pyarrow(table: pa.Table) -> None:
    for name, options in PYARROW.items():
        pq.write_table(table, FOLDER / f"pyarrow-{name}.parquet", **options)
    pq.write_table(table[:0], FOLDER / "pyarrow-empty.parquet")
    whole = table.filter(table["item_id"].is_valid()).select(["item_id"])
    required = whole.cast(pa.schema([pa.field("item_id", pa.string(), nullable=False)]))
    pq.write_table(required, FOLDER / "pyarrow-required.parquet", use_dictionary=False)


def by_spark(source: str) -> None:
    from pipeline.shared_by_jobs.session import spark_session

    with spark_session("other writers", cores="1") as spark, TemporaryDirectory() as folder:
        for name, options in SPARK.items():
            out = f"{folder}/{name}"
            spark.read.parquet(source).coalesce(1).write.options(**options).parquet(out)
            (found,) = Path(out).glob("*.parquet")
            shutil.copy(found, FOLDER / f"spark-{name}.parquet")


def by_duckdb(source: str) -> None:
    import duckdb

    for name, options in DUCKDB.items():
        out = FOLDER / f"duckdb-{name}.parquet"
        duckdb.sql(f"COPY (SELECT * FROM '{source}') TO '{out}' (FORMAT parquet{options})")  # noqa: S608 - our own


def by_polars(source: str) -> None:
    import polars

    for name, options in POLARS.items():
        polars.read_parquet(source).write_parquet(FOLDER / f"polars-{name}.parquet", **options)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    by_pyarrow(rows())
    source = str(FOLDER / "pyarrow-defaults.parquet")
    by_spark(source)
    by_duckdb(source)
    by_polars(source)


if __name__ == "__main__":
    main()
