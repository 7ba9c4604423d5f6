"""Ack logs as frames: files -> FOLDED -> WORDS -> MARKED. The rows of the logs stay in the executors.

FOLDED: what each task makes of its files
WORDS: the acks of all tasks together, a row a page
MARKED: what became of them in the tracker, a row for each hundred pages
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import BatchKey
from pipeline import acklogs, bits, marking, schemas
from pipeline.folding import REASONS, Folder
from pipeline.marking import Target
from pipeline.tables import Tables

BYTES_A_TASK = 64 << 20
LISTED = "path string, modificationTime timestamp, length long, content binary"
"""What Spark's binaryFile source gives of a file; the content is read only where it is asked for."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file by the name that Spark gives it, and its bytes."""

    path: str
    size: int


def files(listed: DataFrame) -> list[LogFile]:
    """The files of a listing, by name. Raises UnreadableLog where one is no log by its name."""
    found = sorted((row.path, row.length) for row in listed.select("path", "length").collect())
    for path, _ in found:
        acklogs.format_of(path)
    return [LogFile(path, size) for path, size in found]


def shares(logs: Sequence[LogFile], slots: int) -> list[list[str]]:
    """The logs, dealt to tasks of about the same size: the largest first, each to who has the least."""
    count = max(1, min(len(logs), max(slots, ceil(sum(log.size for log in logs) / BYTES_A_TASK))))
    hands: list[tuple[int, int, list[str]]] = [(0, number, []) for number in range(count)]
    for log in sorted(logs, key=lambda log: (-log.size, log.path)):
        held, number, paths = hands[0]
        heapq.heapreplace(hands, (held + log.size, number, [*paths, log.path]))
    return [paths for _, _, paths in sorted(hands, key=lambda hand: hand[1])]


def fold(spark: SparkSession, logs: Sequence[LogFile], tables: Tables, tenant: str) -> DataFrame:
    """FOLDED, each task its share of the logs."""
    context = spark.sparkContext
    dealt = [(paths,) for paths in shares(logs, context.defaultParallelism)]
    frame = spark.createDataFrame(context.parallelize(dealt, len(dealt)), "paths array<string>")
    return frame.mapInArrow(partial(_fold_task, tables=tables, tenant=tenant), schemas.FOLDED)


def _fold_task(shared: Iterator[pa.RecordBatch], tables: Tables, tenant: str) -> Iterator[pa.RecordBatch]:
    folder = Folder(tables.store, tenant)
    for path in (path for batch in shared for paths in batch.column(0).to_pylist() for path in paths):
        for portion in acklogs.read(path):
            yield from folder.take(portion, path)
    yield from folder.blocks()


def aside(folded: DataFrame) -> DataFrame:
    """ASIDE: rows of the logs that set no bit."""
    return _column(folded, "aside")


def blocks(folded: DataFrame) -> DataFrame:
    """BLOCK: what each task folded, for others to be folded with."""
    return _column(folded, "block")


def reasons(folded: DataFrame) -> DataFrame:
    """REASON: why items failed, of each batch so many as the tracker keeps, those of one batch together."""
    first = F.row_number().over(Window.partitionBy("batch_id").orderBy("item_id", "reason"))
    said = _column(folded, "reason").withColumn("number", first).where(F.col("number") <= REASONS)
    return said.select("batch_id", "item_id", "reason")


def _column(folded: DataFrame, name: str) -> DataFrame:
    return folded.where(F.col(name).isNotNull()).select(f"{name}.*")


def words(folded_blocks: DataFrame, tasks: int) -> DataFrame:
    """WORDS of BLOCK: all blocks of one number together, page by page, in *tasks* partitions."""
    apart = folded_blocks.repartition(tasks, "batch_id", "block")
    together = apart.groupBy("batch_id", "block").agg(_union("good"), _union("bad"))
    return together.mapInArrow(to_words, schemas.WORDS)


def _union(name: str) -> Column:
    return F.bitmap_or_agg(name).alias(name)


def to_words(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """WORDS of rows of BLOCK, a block each, without a null."""
    schema = to_arrow_schema(schemas.WORDS)
    for batch in found:
        good, bad = (bits.as_rows(batch.column(name).to_pylist()) for name in ("good", "bad"))
        held = np.flatnonzero((good | bad).any(axis=1))
        block, place = np.divmod(held, bits.BLOCK_PAGES)
        numbers = batch.column("block").to_numpy()[block] * bits.BLOCK_PAGES + place
        masks = (good | bad)[held], (bad & ~good)[held]
        columns = [
            batch.column("batch_id").take(pa.array(block)),
            pa.array(numbers),
            *map(bits.to_column, masks),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class Tally:
    """What the tasks have done so far: pages looked at, and items newly acked."""

    pages: Accumulator[int]
    fresh: Accumulator[int]


def mark(found: DataFrame, target: Target, tally: Tally, tasks: int) -> DataFrame:
    """MARKED of WORDS, in *tasks* partitions: every page that lacks any is written in the tracker, once."""
    return apart(found, tasks).mapInArrow(partial(_mark_task, target=target, tally=tally), schemas.MARKED)


def apart(found: DataFrame, tasks: int) -> DataFrame:
    """WORDS, spread over *tasks*; but a batch's pages with failures all to one: they meet at its row."""
    failing = F.bitmap_count("failed") > 0
    share = F.when(failing, F.lit(-1)).otherwise(F.floor(F.col("page") / bits.BLOCK_PAGES))
    spread = found.repartition(tasks, "batch_id", share)
    return spread.sortWithinPartitions("batch_id", failing, "page")


def _mark_task(found: Iterator[pa.RecordBatch], target: Target, tally: Tally) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(schemas.MARKED)
    for row in marking.marker(target).mark_all(marking.portions(found)):
        tally.pages.add(row["pages"])
        tally.fresh.add(row["fresh"])
        yield pa.RecordBatch.from_pylist([row], schema=schema)


def by_batch(marked: DataFrame, target: Target) -> DataFrame:
    """OUTCOMES: MARKED, summed by batch, and the state that the batch is in now."""
    counts = [field.name for field in schemas.MARKED if field.name != "batch_id"]
    sums = marked.groupBy("batch_id").agg(*(F.sum(name).alias(name) for name in counts))
    return sums.mapInArrow(partial(_state_task, target=target), schemas.OUTCOMES)


def _state_task(found: Iterator[pa.RecordBatch], target: Target) -> Iterator[pa.RecordBatch]:
    store = target.tables.store
    for batch in found:
        keys = [BatchKey(target.tenant, batch_id) for batch_id in batch.column("batch_id").to_pylist()]
        states = [str(stored.state) if (stored := store.get(key)) else None for key in keys]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(states, pa.string())], schema=to_arrow_schema(schemas.OUTCOMES)
        )


def keep_reasons(said: DataFrame, target: Target) -> None:
    """Let the tracker keep REASON, as many as it keeps."""
    said.foreachPartition(partial(_reasons_task, target=target))


def _reasons_task(rows: Iterator[object], target: Target) -> None:
    marking.keep_reasons(target, (row.asDict() for row in rows))
