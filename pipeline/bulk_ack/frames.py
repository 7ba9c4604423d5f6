"""Ack logs as frames: files -> FOLDED -> OUTCOMES. Rows of the logs stay in the executors.

FOLDED: the output of all tasks over their files, with each block once
OUTCOMES: the tracker's answers to each task that writes, one row per batch
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipeline.bulk_ack import rows, write
from pipeline.bulk_ack.fold import REASONS, fold_files
from pipeline.bulk_ack.logs import format_of
from pipeline.bulk_ack.write import Tally, Target
from pipeline.shared_by_jobs.files import ListedFile, shares
from pipeline.shared_by_jobs.stages import slots_of
from pipeline.table_frames.tables import Tables

LISTED = "path string, modificationTime timestamp, length long, content binary"
"""The columns of Spark's binaryFile source; it reads the content only if it is selected."""
FOLDED, BLOCK, OUTCOMES = map(from_arrow_schema, (rows.FOLDED, rows.BLOCK, rows.OUTCOMES))
FOLDED_BYTES_A_TASK = 512 << 20
"""Each task has nearly each block of a log in no order, so few tasks have less to pack and to unite."""
_BETWEEN = "\0"
"""What no path has."""


def files(listed: DataFrame) -> list[ListedFile]:
    """Return the files of a listing, by name. Raises UnreadableLog if a name is not that of a log."""
    found = sorted((row.path, row.length) for row in listed.select("path", "length").collect())
    for path, _ in found:
        format_of(path)
    return [ListedFile(path, size) for path, size in found]


def fold(
    spark: SparkSession, logs: Sequence[ListedFile], tables: Tables, tenant: str, counts_only: bool = False
) -> DataFrame:
    """Return FOLDED of *logs*, with the counts; with *counts_only* nothing else.

    Each task folds its share of the files; then each block is in one task, so that the sums of the counts are
    those of all logs. Other rows are spread by what they hold.
    """
    dealt = _dealt(spark, logs)
    task = partial(_fold_task, shares=dealt, tables=tables, tenant=tenant, counts_only=counts_only)
    found = _numbers(spark, dealt).mapInArrow(task, FOLDED)
    spread = found.repartition("block.batch_id", "block.block", F.xxhash64("rejected", "reason"))
    return spread.mapInArrow(partial(rows.united, has_blocks=not counts_only), FOLDED)


def _dealt(spark: SparkSession, logs: Sequence[ListedFile]) -> list[str]:
    """Return the paths for each task as one text: a million paths are then unpickled at once."""
    dealt = shares(logs, slots_of(spark).count, FOLDED_BYTES_A_TASK)
    return [_BETWEEN.join(paths) for paths in dealt]


def _numbers(spark: SparkSession, shares: Sequence[str]) -> DataFrame:
    """Return the number of each share, in a partition of its own; no Python process makes them."""
    return spark.range(0, len(shares), 1, len(shares))


def _fold_task(
    numbers: Iterator[pa.RecordBatch], shares: Sequence[str], tables: Tables, tenant: str, counts_only: bool
) -> Iterator[pa.RecordBatch]:
    mine = (shares[number] for batch in numbers for number in batch.column(0).to_pylist())
    found = fold_files((path for share in mine for path in share.split(_BETWEEN)), tables.store, tenant)
    return rows.without_rejected(found) if counts_only else found


def counts(folded: DataFrame) -> DataFrame:
    """Return COUNTS: some rows of each task."""
    return _column(folded, "counts")


def rejected(folded: DataFrame) -> DataFrame:
    """Return REJECTED: the rows of the logs that set no bit."""
    return _column(folded, "rejected")


def blocks(folded: DataFrame) -> DataFrame:
    """Return BLOCK: the folded acks."""
    return _column(folded, "block")


def reasons(folded: DataFrame) -> DataFrame:
    """Return REASON: why items failed, per batch as many as the tracker keeps, grouped by batch."""
    first = F.row_number().over(Window.partitionBy("batch_id").orderBy("item_id", "reason"))
    found = _column(folded, "reason").withColumn("number", first).where(F.col("number") <= REASONS)
    return found.select("batch_id", "item_id", "reason")


def _column(folded: DataFrame, name: str) -> DataFrame:
    return folded.where(F.col(name).isNotNull()).select(f"{name}.*")


def mark(found: DataFrame, target: Target, tally: Tally, tasks: int) -> DataFrame:
    """Write each page of BLOCK that lacks any bit once; return OUTCOMES of each of *tasks* tasks."""
    return spread(found, tasks).mapInArrow(partial(_mark_task, target=target, tally=tally), OUTCOMES)


def spread(found: DataFrame, tasks: int) -> DataFrame:
    """Return BLOCK spread over *tasks*.

    All pages of a batch with failures go to one task, because each updates the batch's row.
    """
    failing = F.col("failed").isNotNull()
    share = F.when(failing, F.lit(-1)).otherwise(F.col("block"))
    return found.repartition(tasks, "batch_id", share).sortWithinPartitions("batch_id", failing, "block")


def _mark_task(found: Iterator[pa.RecordBatch], target: Target, tally: Tally) -> Iterator[pa.RecordBatch]:
    marked = write.mark(rows.to_page_masks(rows.unpacked(found)), target, tally)
    yield pa.RecordBatch.from_pylist(write.outcomes(marked, target), schema=rows.OUTCOMES)


def keep_reasons(found: DataFrame, target: Target) -> None:
    """Store REASON in the tracker, which keeps a bounded number per batch."""
    found.foreachPartition(partial(_reasons_task, target=target))


def _reasons_task(found: Iterator[Row], target: Target) -> None:
    write.keep_reasons(target, (row.asDict() for row in found))
