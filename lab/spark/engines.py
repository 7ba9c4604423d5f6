"""What a person would write instead of the jobs, with DuckDB and with Polars, on one thread.

Each fold returns the bitmap of a batch as longs of 64 bits: that of an item is bit ``i % 64`` of long
``i // 64``, which is the layout of the tracker's pages. Each numbering saves messages as Parquet.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanin.tracker.rules.page import PAGE_BITS_MAX
from lab.spark.inputs import Logs

LONG = 64
Longs = NDArray[np.uint64]


def longs_of(rows: int) -> int:
    """Return how many longs the pages of *rows* items have."""
    return -(-rows // PAGE_BITS_MAX) * PAGE_BITS_MAX // LONG


def duckdb_fold(logs: Logs) -> Longs:
    """Fold in SQL: one group for each long."""
    index, of_group = _DUCKDB[logs.form](logs)
    found = _duckdb().execute(
        f"""
        SELECT i // {LONG} AS long, bit_or(1::UBIGINT << (i % {LONG})::UBIGINT) AS bits
        FROM (
            SELECT {index}::BIGINT AS i FROM read_parquet('{logs.folder}/*.parquet') WHERE {of_group}
        ) WHERE i BETWEEN 0 AND {logs.rows - 1} GROUP BY long
        """  # noqa: S608 - our own
    )
    arrays = found.fetchnumpy()
    return _placed(arrays["long"], arrays["bits"], logs.rows)


_DUCKDB: dict[str, Callable[[Logs], tuple[str, str]]] = {
    "texts": lambda logs: (
        f"substr(item_id, {len(logs.head) + 1})",
        f"starts_with(item_id, '{logs.head}')",
    ),
    "integers": lambda logs: (
        '"index"',
        f"batch_id = '{logs.batch.batch_id}' AND group_id = '{logs.group_id}'",
    ),
}
"""The index of a row, and the condition that it is of the group."""


def polars_fold(logs: Logs) -> Longs:
    """Fold in expressions: one group for each long."""
    import polars as pl  # noqa: PLC0415 - installed by those who measure

    i = pl.col("i")
    bit = pl.lit(2, pl.UInt64).pow((i % LONG).cast(pl.UInt32))
    # An item counts once, so that the sum of its bits is their union.
    folded = _polars_indexes(logs).unique().group_by((i // LONG).alias("long")).agg(bit.sum().alias("bits"))
    frame = folded.collect(engine="streaming")
    return _placed(frame["long"].to_numpy(), frame["bits"].to_numpy(), logs.rows)


def polars_numpy_fold(logs: Logs) -> Longs:
    """Fold with Polars as the reader: NumPy has a byte for each item, and packs them."""
    flags = np.zeros(longs_of(logs.rows) * LONG, np.bool_)
    flags[_polars_indexes(logs).collect()["i"].to_numpy()] = True
    return np.packbits(flags, bitorder="little").view(np.uint64)


def duckdb_number(dataset: Path, out: Path, head: str) -> None:
    """Number and save in SQL."""
    _duckdb().execute(
        f"""
        COPY (
            SELECT position, 1 AS copy, '{head}' || position AS item_id, to_json(r)::VARCHAR AS record
            FROM (SELECT row_number() OVER () - 1 AS position, r FROM read_parquet('{dataset}') r)
        ) TO '{out}' (FORMAT parquet, COMPRESSION zstd)
        """  # noqa: S608 - our own
    )


def polars_number(dataset: Path, out: Path, head: str) -> None:
    """Number and save in expressions."""
    import polars as pl  # noqa: PLC0415  # other engines need none

    rows = pl.scan_parquet(dataset)
    record = pl.struct(rows.collect_schema().names()).struct.json_encode().alias("record")
    position = pl.col("position").cast(pl.Int64)
    item_id = (pl.lit(head) + position.cast(pl.String)).alias("item_id")
    numbered = rows.with_row_index("position").select(position, pl.lit(1).alias("copy"), item_id, record)
    numbered.sink_parquet(out, compression="zstd")


def _polars_indexes(logs: Logs) -> Any:
    import polars as pl  # noqa: PLC0415  # other engines need none

    item, files = pl.col("item_id"), pl.scan_parquet(logs.folder / "*.parquet")
    index, of_group = item.str.slice(len(logs.head)), item.str.starts_with(logs.head)
    if logs.form == "integers":
        index = pl.col("index")
        of_group = (pl.col("batch_id") == logs.batch.batch_id) & (pl.col("group_id") == logs.group_id)
    rows = files.filter(of_group).select(index.cast(pl.Int64).alias("i"))
    return rows.filter(pl.col("i").is_between(0, logs.rows - 1))


def _placed(longs: NDArray[Any], bits: NDArray[Any], rows: int) -> Longs:
    placed = np.zeros(longs_of(rows), np.uint64)
    placed[longs] = bits
    return placed


def _duckdb() -> Any:
    import duckdb  # noqa: PLC0415 - installed by those who measure

    return duckdb.connect(config={"threads": 1, "preserve_insertion_order": True})
