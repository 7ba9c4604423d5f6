"""Ack logs as frames: files -> FOLDED -> PAGE_MASKS -> MARKED. Rows of the logs stay in the executors.

FOLDED: the output of each task over its files
PAGE_MASKS: the acks of all tasks together, one row per page
MARKED: the tracker's answers, one row per hundred pages
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipeline.bulk_ack import rows, write
from pipeline.bulk_ack.fold import REASONS, fold_files
from pipeline.bulk_ack.logs import format_of
from pipeline.bulk_ack.write import Tally, Target
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.files import ListedFile, shares
from pipeline.shared_by_jobs.stages import slots_of
from pipeline.table_frames.tables import Tables

LISTED = "path string, modificationTime timestamp, length long, content binary"
"""The columns of Spark's binaryFile source; it reads the content only if it is selected."""
FOLDED, COUNTED, COUNTS, PAGE_MASKS, MARKED, OUTCOMES = map(
    from_arrow_schema,
    (rows.FOLDED, rows.COUNTED, rows.COUNTS, rows.PAGE_MASKS, rows.MARKED, rows.OUTCOMES),
)
_BETWEEN = "\0"
"""What no path has."""


def files(listed: DataFrame) -> list[ListedFile]:
    """Return the files of a listing, by name. Raises UnreadableLog if a name is not that of a log."""
    found = sorted((row.path, row.length) for row in listed.select("path", "length").collect())
    for path, _ in found:
        format_of(path)
    return [ListedFile(path, size) for path, size in found]


def fold(spark: SparkSession, logs: Sequence[ListedFile], tables: Tables, tenant: str) -> DataFrame:
    """Return FOLDED of *logs*; each task folds its share of the files."""
    dealt = _dealt(spark, logs)
    task = partial(_fold_task, shares=dealt, tables=tables, tenant=tenant)
    return _numbers(spark, dealt).mapInArrow(task, FOLDED)


def counts(spark: SparkSession, logs: Sequence[ListedFile], tables: Tables, tenant: str) -> DataFrame:
    """Return COUNTS of *logs*: of each block in one row, so that their sums are those of all logs."""
    dealt = _dealt(spark, logs)
    task = partial(_count_task, shares=dealt, tables=tables, tenant=tenant)
    found = _numbers(spark, dealt).mapInArrow(task, COUNTED)
    return found.repartition("batch_id", "block").mapInArrow(rows.counted, COUNTS)


def _dealt(spark: SparkSession, logs: Sequence[ListedFile]) -> list[str]:
    """Return the paths for each task as one text: a million paths are then unpickled at once."""
    return [_BETWEEN.join(paths) for paths in shares(logs, slots_of(spark).count)]


def _numbers(spark: SparkSession, shares: Sequence[str]) -> DataFrame:
    """Return the number of each share, in a partition of its own; no Python process makes them."""
    return spark.range(0, len(shares), 1, len(shares))


def _fold_task(
    numbers: Iterator[pa.RecordBatch], shares: Sequence[str], tables: Tables, tenant: str
) -> Iterator[pa.RecordBatch]:
    mine = (shares[number] for batch in numbers for number in batch.column(0).to_pylist())
    return fold_files((path for share in mine for path in share.split(_BETWEEN)), tables.store, tenant)


def _count_task(numbers: Iterator[pa.RecordBatch], **of_job: Any) -> Iterator[pa.RecordBatch]:
    return rows.countable(_fold_task(numbers, **of_job))


def rejected(folded: DataFrame) -> DataFrame:
    """Return REJECTED: the rows of the logs that set no bit."""
    return _column(folded, "rejected")


def blocks(folded: DataFrame) -> DataFrame:
    """Return BLOCK: the acks that each task folded."""
    return _column(folded, "block")


def reasons(folded: DataFrame) -> DataFrame:
    """Return REASON: why items failed, per batch as many as the tracker keeps, grouped by batch."""
    first = F.row_number().over(Window.partitionBy("batch_id").orderBy("item_id", "reason"))
    found = _column(folded, "reason").withColumn("number", first).where(F.col("number") <= REASONS)
    return found.select("batch_id", "item_id", "reason")


def _column(folded: DataFrame, name: str) -> DataFrame:
    return folded.where(F.col(name).isNotNull()).select(f"{name}.*")


def page_masks(folded_blocks: DataFrame, tasks: int) -> DataFrame:
    """Return PAGE_MASKS of BLOCK, in *tasks* partitions: the union of all blocks of one number, per page."""
    return folded_blocks.repartition(tasks, "batch_id", "block").mapInArrow(rows.united, PAGE_MASKS)


def mark(found: DataFrame, target: Target, tally: Tally, tasks: int) -> DataFrame:
    """Write each page of PAGE_MASKS that lacks any bit once; return MARKED, in *tasks* partitions."""
    return spread(found, tasks).mapInArrow(partial(_mark_task, target=target, tally=tally), MARKED)


def spread(found: DataFrame, tasks: int) -> DataFrame:
    """Return PAGE_MASKS spread over *tasks*.

    All pages of a batch with failures go to one task, because each updates the batch's row.
    """
    failing = F.bitmap_count("failed") > 0
    share = F.when(failing, F.lit(-1)).otherwise(F.floor(F.col("page") / bitmaps.BLOCK_PAGES))
    return found.repartition(tasks, "batch_id", share).sortWithinPartitions("batch_id", failing, "page")


def _mark_task(found: Iterator[pa.RecordBatch], target: Target, tally: Tally) -> Iterator[pa.RecordBatch]:
    for row in write.mark(found, target, tally):
        yield pa.RecordBatch.from_pylist([row], schema=rows.MARKED)


def by_batch(marked: DataFrame, target: Target) -> DataFrame:
    """Return OUTCOMES: MARKED summed by batch, and the batch's state now."""
    counts = [name for name in rows.MARKED.names if name != "batch_id"]
    sums = marked.groupBy("batch_id").agg(*(F.sum(name).alias(name) for name in counts))
    return sums.mapInArrow(partial(_state_task, target=target), OUTCOMES)


def _state_task(found: Iterator[pa.RecordBatch], target: Target) -> Iterator[pa.RecordBatch]:
    for batch in found:
        states = [write.state_of(target, batch_id) for batch_id in batch.column("batch_id").to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(states, pa.string())], schema=rows.OUTCOMES
        )


def keep_reasons(found: DataFrame, target: Target) -> None:
    """Store REASON in the tracker, which keeps a bounded number per batch."""
    found.foreachPartition(partial(_reasons_task, target=target))


def _reasons_task(found: Iterator[Row], target: Target) -> None:
    write.keep_reasons(target, (row.asDict() for row in found))
