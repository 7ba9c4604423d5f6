"""Divides Parquet files among tasks by their row groups, and reads a task's share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.shared_by_jobs.files import as_spark_names

THREADS = 16
"""Files that are opened at once: from S3, an answer takes longer than the footer."""
ROWS_AT_ONCE = 65_536
BYTES_AT_ONCE = 64 << 20
"""Bounds of what a task has in memory, by the bytes of the rows in Parquet, before compression."""

SHARE_BYTES = 256 << 20
"""The most a task reads, by the same bytes, unless a row group has more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Row group number *group* of the file *path*, without its rows from number *rows* on."""

    path: str
    group: int
    rows: int
    size: int


Share = list[Piece]
"""What one task reads, in this order."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its number of rows, and the least and the greatest value of the columns asked for.

    A column without statistics is left out.
    """

    rows: int
    values: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Footer:
    """The pieces of a file, their statistics, and the file's schema and metadata."""

    pieces: Share
    statistics: list[RowGroup]
    schema: pa.Schema
    metadata: Mapping[bytes, bytes]


def footers(paths: Sequence[str], columns: Sequence[str] = ()) -> list[Footer]:
    """Return the footers of the files *paths*, with statistics of *columns*."""
    if len(paths) <= THREADS:  # without threads the caller may fork
        return [_footer(path, columns) for path in paths]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda path: _footer(path, columns), paths))


def first_rows(pieces: Sequence[Piece], limit: int | None) -> Share:
    """Return the pieces of the first *limit* rows; None: of all."""
    if limit is None:
        return list(pieces)
    before = accumulate((piece.rows for piece in pieces), initial=0)
    kept = zip(pieces, before, strict=False)
    return [
        Piece(piece.path, piece.group, min(piece.rows, limit - start), piece.size)
        for piece, start in kept
        if start < limit
    ]


def shares(pieces: Sequence[Piece], slots: int) -> list[Share]:
    """Return *pieces* in order, divided among at least *slots* tasks of about the same size, if so many."""
    total = sum(piece.size for piece in pieces) or 1
    count = max(1, min(len(pieces), max(slots, ceil(total / SHARE_BYTES))))
    tasks: list[Share] = [[] for _ in range(count)]
    before = 0
    for piece in pieces:
        tasks[min(count - 1, (before + piece.size // 2) * count // total)].append(piece)
        before += piece.size
    return [task for task in tasks if task] or [[]]


def read(share: Share, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *share* in batches of at most ROWS_AT_ONCE, in order."""
    for piece in share:
        wanted = piece.rows
        with _opened(piece.path) as file:
            rows = max(1, file.metadata.row_group(piece.group).num_rows)
            at_once = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE * rows // max(1, piece.size)))
            for batch in file.iter_batches(at_once, [piece.group], columns, use_threads=False):
                if wanted:
                    yield batch.slice(0, wanted)
                wanted -= min(wanted, batch.num_rows)


def _opened(path: str) -> pq.ParquetFile:
    system, inner = as_spark_names(path)
    return pq.ParquetFile(system.open_input_file(inner))


def _footer(path: str, columns: Sequence[str]) -> Footer:
    with _opened(path) as file:
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        pieces = [
            Piece(path, number, group.num_rows, group.total_byte_size) for number, group in enumerate(groups)
        ]
        statistics = [RowGroup(group.num_rows, dict(_values(group, columns))) for group in groups]
        return Footer(pieces, statistics, file.schema_arrow, file.metadata.metadata or {})


def _values(group: Any, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for number in range(group.num_columns):
        column = group.column(number)
        found = column.statistics
        if column.path_in_schema in columns and found is not None and found.has_min_max:
            yield column.path_in_schema, (found.min, found.max)
