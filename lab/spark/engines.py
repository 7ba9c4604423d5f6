"""What a person would write instead of the jobs, with DuckDB and with Polars, on one thread.

Each fold returns the bitmap of a batch, or of several one after another, as longs of 64 bits: that of an item
is bit ``i % 64`` of long ``i // 64``, which is the layout of the tracker's pages. Each numbering saves
messages as Parquet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fanin.tracker.rules.page import PAGE_BITS_MAX
from lab.spark.inputs import Logs

LONG = 64
_ONES = (1 << LONG) - 1
Longs = NDArray[np.uint64]


def longs_of(items: int) -> int:
    """Return how many longs the pages of so many *items* have."""
    return -(-items // PAGE_BITS_MAX) * PAGE_BITS_MAX // LONG


def bits_of(logs: Logs) -> int:
    """Return how many bits each batch has."""
    return longs_of(logs.items) * LONG


def duckdb_fold(logs: Logs, rows: Any = None) -> Longs:
    """Fold in SQL: one group for each long. *rows*: in memory, in place of the files."""
    connection = _duckdb()
    connection.execute("CREATE TABLE heads AS SELECT unnest(?) AS head, unnest(?) AS number", _numbered(logs))
    if rows is not None:
        connection.register("logged", rows)
    source = "logged" if rows is not None else f"read_parquet('{logs.folder}/*.parquet')"
    longs = _duckdb_ranges(logs, source) if logs.form == "ranges" else _duckdb_items(logs, source)
    arrays = connection.execute(
        f"SELECT long, bit_or(bits) AS bits FROM ({longs}) GROUP BY long"  # noqa: S608 - our own
    ).fetchnumpy()
    return _placed(arrays["long"], arrays["bits"], logs)


def _duckdb_items(logs: Logs, source: str) -> str:
    """Return a query of the long and the bit of each item."""
    index, of_group = f"substr(item_id, {len(logs.head) + 1})::BIGINT", f"starts_with(item_id, '{logs.head}')"
    if logs.form == "integers":
        index, of_group = '"index"::BIGINT', _of_group(logs)
    if logs.others:
        source += f" JOIN heads ON head = substr(item_id, 1, {len(logs.head)})"
        index, of_group = f"number * {bits_of(logs)} + {index}", "true"
    items = f"SELECT {index} AS i FROM {source} WHERE {of_group}"  # noqa: S608 - our own
    last = bits_of(logs) * len(logs.heads) - 1
    return f"""
        SELECT i // {LONG} AS long, 1::UBIGINT << (i % {LONG})::UBIGINT AS bits
        FROM ({items}) WHERE i BETWEEN 0 AND {last}
    """  # noqa: S608 - our own


def _duckdb_ranges(logs: Logs, source: str) -> str:
    """Return a query of each long of a range, and its bits."""
    low, high = f"greatest(first - long * {LONG}, 0)", f"least(last - long * {LONG}, {LONG - 1})"
    return f"""
        SELECT long, ({_ONES}::UBIGINT >> ({LONG - 1} - {high} + {low})::UBIGINT) << ({low})::UBIGINT AS bits
        FROM (
            SELECT first, last, unnest(range(first // {LONG}, last // {LONG} + 1)) AS long
            FROM (
                SELECT first + {logs.before} AS first, last + {logs.before} AS last
                FROM {source} WHERE {_of_group(logs)} AND first >= 0 AND last < {logs.items - logs.before}
            )
        )
    """  # noqa: S608 - our own


def _of_group(logs: Logs) -> str:
    return f"batch_id = '{logs.batch.batch_id}' AND group_id = '{logs.group_id}'"


def _numbered(logs: Logs) -> list[list[Any]]:
    return [logs.heads, [*range(len(logs.heads))]]


def polars_fold(logs: Logs, rows: Any = None) -> Longs:
    """Fold in expressions: one group for each long. *rows*: in memory, in place of the files."""
    import polars as pl  # noqa: PLC0415 - installed by those who measure

    if logs.form == "ranges":
        found, bits = _polars_longs(logs, rows), pl.col("bits").bitwise_or()
    else:
        i = pl.col("i")
        bit = pl.lit(2, pl.UInt64).pow((i % LONG).cast(pl.UInt32))
        # An item counts once, so that the sum of its bits is their union.
        indexes = _polars_indexes(logs, rows).unique()
        found, bits = indexes.select((i // LONG).alias("long"), bit.alias("bits")), pl.col("bits").sum()
    frame = found.group_by("long").agg(bits).collect(engine="streaming")
    return _placed(frame["long"].to_numpy(), frame["bits"].to_numpy(), logs)


def polars_numpy_fold(logs: Logs, rows: Any = None) -> Longs:
    """Fold with Polars as the reader: NumPy has a byte for each item, and packs them; of ranges, longs."""
    if logs.form == "ranges":
        return _numpy_ranges(logs, _polars_ranges(logs, rows).collect())
    flags = np.zeros(bits_of(logs) * len(logs.heads), np.bool_)
    flags[_polars_indexes(logs, rows).collect()["i"].to_numpy()] = True
    return np.packbits(flags, bitorder="little").view(np.uint64)


def in_memory(way: str, logs: Logs) -> Any:
    """Return the rows of *logs* as the engine of *way* has them in memory."""
    if way.startswith("duckdb"):
        return pq.read_table(logs.folder)
    import polars as pl  # noqa: PLC0415 - installed by those who measure

    return pl.read_parquet(logs.folder / "*.parquet")


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


def _polars_rows(logs: Logs, rows: Any) -> Any:
    import polars as pl  # noqa: PLC0415  # other engines need none

    return pl.scan_parquet(logs.folder / "*.parquet") if rows is None else rows.lazy()


def _polars_indexes(logs: Logs, rows: Any) -> Any:
    import polars as pl  # noqa: PLC0415  # other engines need none

    found, item = _polars_rows(logs, rows), pl.col("item_id")
    index, of_group = item.str.slice(len(logs.head)).cast(pl.Int64), item.str.starts_with(logs.head)
    if logs.form == "integers":
        index, of_group = pl.col("index").cast(pl.Int64), _polars_group(logs)
    if logs.others:
        heads = pl.LazyFrame(dict(zip(("head", "number"), _numbered(logs), strict=True)))
        found = found.with_columns(item.str.slice(0, len(logs.head)).alias("head")).join(heads, on="head")
        index, of_group = pl.col("number") * bits_of(logs) + index, pl.lit(True)
    found = found.filter(of_group).select(index.alias("i"))
    return found.filter(pl.col("i").is_between(0, bits_of(logs) * len(logs.heads) - 1))


def _polars_ranges(logs: Logs, rows: Any) -> Any:
    import polars as pl  # noqa: PLC0415  # other engines need none

    first, last = pl.col("first"), pl.col("last")
    inside = (first >= 0) & (last < logs.items - logs.before)
    found = _polars_rows(logs, rows).filter(_polars_group(logs) & inside)
    return found.select(first + logs.before, last + logs.before)


def _polars_longs(logs: Logs, rows: Any) -> Any:
    """Return each long of a range, and its bits."""
    import polars as pl  # noqa: PLC0415  # other engines need none

    first, last, long = pl.col("first"), pl.col("last"), pl.col("long")
    found = _polars_ranges(logs, rows).with_columns(
        pl.int_ranges(first // LONG, last // LONG + 1).alias("long")
    )
    low = pl.max_horizontal(first - long * LONG, 0)
    high = pl.min_horizontal(last - long * LONG, LONG - 1)
    two = pl.lit(2, pl.UInt64)
    ones = pl.lit(_ONES, pl.UInt64) // two.pow((LONG - 1 - high + low).cast(pl.UInt32))
    return found.explode("long").select(long, (ones * two.pow(low.cast(pl.UInt32))).alias("bits"))


def _numpy_ranges(logs: Logs, frame: Any) -> Longs:
    first, last = frame["first"].to_numpy(), frame["last"].to_numpy()
    counts = last // LONG - first // LONG + 1
    of_range = np.repeat(np.arange(counts.size), counts)
    long = (first // LONG)[of_range] + np.arange(of_range.size) - (np.cumsum(counts) - counts)[of_range]
    low, high = (
        np.maximum(first[of_range] - long * LONG, 0),
        np.minimum(last[of_range] - long * LONG, LONG - 1),
    )
    ones = np.uint64(_ONES) >> (LONG - 1 - high + low).astype(np.uint64)
    placed = np.zeros(longs_of(logs.items), np.uint64)
    np.bitwise_or.at(placed, long, ones << low.astype(np.uint64))
    return placed


def _polars_group(logs: Logs) -> Any:
    import polars as pl  # noqa: PLC0415  # other engines need none

    return (pl.col("batch_id") == logs.batch.batch_id) & (pl.col("group_id") == logs.group_id)


def _placed(longs: NDArray[Any], bits: NDArray[Any], logs: Logs) -> Longs:
    placed = np.zeros(longs_of(logs.items) * len(logs.heads), np.uint64)
    placed[longs] = bits
    return placed


def _duckdb() -> Any:
    import duckdb  # noqa: PLC0415 - installed by those who measure

    return duckdb.connect(config={"threads": 1, "preserve_insertion_order": True})
