"""Reads the row counts and statistics in the footers of Parquet files, and no rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from pipeline.shared_by_jobs.files import as_spark_names

THREADS = 16
"""Files that are opened at once: from S3, an answer takes longer than the footer."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its number of rows, and the least and the greatest value of the columns asked for.

    A column without statistics is left out.
    """

    rows: int
    values: Mapping[str, tuple[Any, Any]]


def row_groups(uris: Sequence[str], columns: Sequence[str]) -> list[RowGroup]:
    """Return the row groups of the files *uris*, as Spark's `inputFiles` names them, and their *columns*."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [group for found in pool.map(partial(_of, columns=columns), uris) for group in found]


def _of(uri: str, columns: Sequence[str]) -> list[RowGroup]:
    system, path = as_spark_names(unquote(uri))
    footer = pq.read_metadata(path, filesystem=system)
    groups = map(footer.row_group, range(footer.num_row_groups))
    return [RowGroup(group.num_rows, dict(_values(group, columns))) for group in groups]


def _values(group: pq.RowGroupMetaData, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for column in map(group.column, range(group.num_columns)):
        name, found = column.path_in_schema, column.statistics
        if name in columns and found is not None and found.has_min_max:
            yield name, (found.min, found.max)
