"""Reads the row counts and statistics in the footers of Parquet files, and no rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREADS = 16
"""Files that are opened at once: from S3, an answer takes longer than the footer."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its number of rows, and the least and the greatest value of the columns asked for.

    A column without statistics is left out.
    """

    rows: int
    values: Mapping[str, tuple[Any, Any]]


def row_groups(spark: SparkSession, paths: Sequence[str], columns: Sequence[str]) -> list[RowGroup]:
    """Return the row groups of the files *paths*, with statistics of *columns*."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [group for found in pool.map(lambda path: _of(spark, path, columns), paths) for group in found]


def _of(spark: SparkSession, path: str, columns: Sequence[str]) -> list[RowGroup]:
    jvm: Any = spark._jvm
    file = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(settings, file)
    return [RowGroup(block.getRowCount(), dict(_values(block, columns))) for block in footer.getBlocks()]


def _values(block: Any, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for column in block.getColumns():
        name, found = column.getPath().toDotString(), column.getStatistics()
        if name in columns and found is not None and found.hasNonNullValue():
            yield name, (found.genericGetMin(), found.genericGetMax())
