"""Acks the items that ack logs list: once over files, or as files arrive.

Logs -> one bitmap per page -> the tracker's own code, one write per page. Bits are only ever set, so every
step may be repeated: a second run over the same logs, or a task or micro-batch that is run again, changes
nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from fanin.cost.dollars import price
from fanin.cost.prices import READ_UNIT, WRITE_UNIT
from fanin.tracker import State, Verdict
from pipeline.bulk_ack import frames
from pipeline.bulk_ack.frames import Tally
from pipeline.bulk_ack.logs import refuse_hidden
from pipeline.bulk_ack.write import Target
from pipeline.snapshot.tables import Tables
from pipeline.spark import schemas
from pipeline.spark.files import ListedFile
from pipeline.spark.progress import Report, every, moving, watching

PLAIN_PAGE_WRITES = 2
FAILING_PAGE_WRITES = 7
"""The most write units of a page of folded acks: the page, and its bit in its parent.

A page with failures may be twice as large, and is written in one transaction with their count.
"""


@dataclass(frozen=True, slots=True)
class AckEstimate:
    """Units of acking folded logs: each page is read, and written if it lacks any bit; at most *writes*."""

    reads: int
    writes: int

    def facts(self) -> dict[str, Any]:
        """Return the fields of the event ``estimate``."""
        dollars = self.reads * READ_UNIT + self.writes * WRITE_UNIT
        return {
            "reads": self.reads,
            "mostWrites": self.writes,
            "mostDollars": round(dollars, 4),
            "price": price(dollars),
        }


def estimate_acks(pages: int, failing: int) -> AckEstimate:
    """Return the estimate for *pages* pages, *failing* of which have failures."""
    return AckEstimate(pages, PLAIN_PAGE_WRITES * (pages - failing) + FAILING_PAGE_WRITES * failing)


PROGRESS_SECONDS = 1.0
ANY_AGE = "36500d"
"""The greatest age of an arriving file. Spark skips, without a message, one a week older than the newest."""
QUERY = "sql.streaming.queryId"
"""The local property in which Spark passes a stream's id to its micro-batches; a checkpoint keeps the id."""
BLOCKS_A_TASK = 256
MOST_TASKS = 10_000
"""Tasks that write pages take some seconds each, so that one that is run again repeats little."""
SUMMED = [field.name for field in schemas.MARKED if field.name != "batch_id"]
_NOT_LATE = (Verdict.ACCEPTED, Verdict.DUPLICATE)


class Counts(dict[str, int]):
    """Counts by name, formatted as ``3 foreign, 1 malformed``."""

    def __format__(self, _: str) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in sorted(self.items())) or "none"


@dataclass(frozen=True, slots=True)
class BulkAckRequest:
    """The tables and tenant to ack in, and the folder for rejected rows.

    *run* names this run in that folder, and as the caller of its acks. *rate*: write units a second, all
    executors together.
    """

    tables: Tables
    tenant: str
    rejects: str
    run: str
    rate: float | None = None

    def target(self, slots: int) -> Target:
        """Return what one of *slots* concurrent tasks may write."""
        return Target(
            self.tables, self.tenant, f"bulk-ack:{self.run}", self.rate / slots if self.rate else None
        )


@dataclass(frozen=True, slots=True)
class Folded:
    """Counts of the folded logs: acks, rejected rows by refusal, *items* (*failed* of them), *pages*."""

    acks: int
    rejected: dict[str, int]
    pages: int
    items: int
    failed: int

    @property
    def facts(self) -> dict[str, Any]:
        """Return the counts as the facts of an event."""
        rejected = sum(self.rejected.values())
        return {
            "acks": self.acks + rejected,
            "items": self.items,
            "repeated": self.acks - self.items,
            "failures": self.failed,
            "pages": self.pages,
            "rejected": rejected,
            "why": Counts(self.rejected),
        }


@dataclass(frozen=True, slots=True)
class Fold:
    """Folded logs, cached until they are written by so many *tasks*."""

    frame: DataFrame
    page_masks: DataFrame
    tasks: int
    counts: Folded


def list_logs(spark: SparkSession, paths: Sequence[str]) -> list[ListedFile]:
    """Return the logs in *paths*: files, folders with everything below them, patterns.

    Raises UnreadableLog.
    """
    for path in paths:
        refuse_hidden(path)
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return frames.files(reader.load(list(paths)))


def bulk_ack(
    spark: SparkSession, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
) -> Counter[str]:
    """Ack what *logs* list; return the counts of MARKED by name, and ``rejected``."""
    started = time.monotonic()
    with _folded(spark, logs, request, report) as fold:
        _save_rejected(fold, request, report)
        outcomes = _mark(fold, request, report)
        totals: Counter[str] = Counter({name: sum(one[name] for one in outcomes) for name in SUMMED})
        if fold.counts.failed:
            frames.keep_reasons(frames.reasons(fold.frame), request.target(1))
    totals["rejected"] = sum(fold.counts.rejected.values())
    states = Counter(one["state"] or "gone" for one in outcomes)
    report("acked", {**fold.counts.facts, **_facts(totals, states), "seconds": _since(started)})
    return totals


def preview(spark: SparkSession, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> None:
    """Fold *logs* and report the most that acking them would cost; nothing is written."""
    with _folded(spark, logs, request, report) as fold:
        failing = fold.page_masks.where(F.bitmap_count("failed") > 0).count()
        facts = estimate_acks(fold.counts.pages, failing).facts()
        report("estimate", {**fold.counts.facts, **facts})


def stream(
    spark: SparkSession,
    path: str,
    checkpoint: str,
    request: BulkAckRequest,
    report: Report,
    seconds: float | None,
) -> StreamingQuery:
    """Start a query that acks each file arriving in the folder *path* once, in micro-batches; return it.

    *seconds*: the time between micro-batches; None takes the files that are there now, and ends.
    *checkpoint*: keeps which files are done, and the name of the run. A micro-batch that is repeated saves
    its rejected rows at the same path.
    """

    def ack(listed: DataFrame, epoch: int) -> None:
        query = spark.sparkContext.getLocalProperty(QUERY)
        bulk_ack(listed.sparkSession, frames.files(listed), replace(request, run=f"{query}-{epoch}"), report)

    reader = spark.readStream.format("binaryFile").schema(frames.LISTED)
    reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", ANY_AGE)
    listed = reader.load(path).select("path", "length")
    writer = listed.writeStream.foreachBatch(ack).option("checkpointLocation", checkpoint)
    if seconds is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{seconds} seconds").start()


@contextmanager
def _folded(
    spark: SparkSession, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
) -> Iterator[Fold]:
    context, started = spark.sparkContext, time.monotonic()
    frame = frames.fold(spark, logs, request.tables, request.tenant).persist()
    page_masks = None
    try:
        with watching(context, report):
            counts = _counts(frame)
            tasks = max(context.defaultParallelism, min(MOST_TASKS, ceil(counts["blocks"] / BLOCKS_A_TASK)))
            page_masks = frames.page_masks(frames.blocks(frame), tasks).persist()
            folded = _totals(counts, page_masks)
        report("folded", {**folded.facts, "files": len(logs), "seconds": _since(started)})
        yield Fold(frame, page_masks, tasks, folded)
    finally:
        frame.unpersist()
        if page_masks is not None:
            page_masks.unpersist()


_REJECTED = "rejected "


def _counts(folded: DataFrame) -> Counter[str]:
    """Return the number of ``acks``, about that of ``blocks``, and rejected rows as ``rejected <refusal>``.

    Where logs are in no order, each task has most of the blocks: one that several have counts once.
    """
    block = F.when(F.col("block").isNotNull(), F.xxhash64("block.batch_id", "block.block"))
    blocks = F.approx_count_distinct(block).alias("blocks")
    measures = (F.coalesce(F.sum("acks"), F.lit(0)).alias("acks"), blocks)
    rows = folded.groupBy("rejected.refusal").agg(*measures, F.count("rejected").alias("rejected")).collect()
    found: Counter[str] = Counter()
    for row in rows:
        found.update({"acks": row.acks, "blocks": row.blocks})
        if row.refusal is not None:
            found[_REJECTED + row.refusal] += row.rejected
    return found


def _totals(counts: Counter[str], page_masks: DataFrame) -> Folded:
    measures = [F.coalesce(F.sum(F.bitmap_count(name)), F.lit(0)).alias(name) for name in ("bits", "failed")]
    (row,) = page_masks.agg(F.count("*").alias("pages"), *measures).collect()
    rejected = {
        name.removeprefix(_REJECTED): count for name, count in counts.items() if name.startswith(_REJECTED)
    }
    return Folded(counts["acks"], rejected, row.pages, row.bits, row.failed)


def _save_rejected(fold: Fold, request: BulkAckRequest, report: Report) -> None:
    """Save the rejected rows before any page is written; a repeated micro-batch replaces its own."""
    if fold.counts.rejected:
        path = f"{request.rejects.rstrip('/')}/run={request.run}"
        frames.rejected(fold.frame).write.mode("overwrite").parquet(path)
        facts = fold.counts.facts
        report("rejected", {"path": path, "rows": facts["rejected"], "why": facts["why"]})


def _mark(fold: Fold, request: BulkAckRequest, report: Report) -> list[dict[str, Any]]:
    """Write the page masks to the tracker; return OUTCOMES, one row per batch."""
    context, started = fold.page_masks.sparkSession.sparkContext, time.monotonic()
    tally = Tally(context.accumulator(0), context.accumulator(0))
    target = request.target(context.defaultParallelism)
    moved = moving(report, "done")

    def progress() -> None:
        counts = {"done": min(tally.pages.value, fold.counts.pages), "fresh": tally.fresh.value}
        moved("progress", {**counts, "pages": fold.counts.pages, "seconds": _since(started)})

    with every(PROGRESS_SECONDS, progress):
        marked = frames.mark(fold.page_masks, target, tally, fold.tasks)
        return [row.asDict() for row in frames.by_batch(marked, target).collect()]


def _facts(totals: Counter[str], states: Counter[str]) -> dict[str, Any]:
    """Return the part of the closing event that counts what the tracker answered."""
    late = {str(verdict): totals[verdict] for verdict in Verdict if verdict not in _NOT_LATE}
    return {
        "fresh": totals["fresh"],
        "duplicate": totals[Verdict.DUPLICATE],
        "failed": totals["failed"],
        "healed": totals["healed"],
        "late": Counts({name: count for name, count in late.items() if count}),
        "written": totals["written"],
        "requests": totals["requests"],
        "writeUnits": totals["write_units"],
        "batches": states.total(),
        "complete": states[State.COMPLETE],
    }


def _since(started: float) -> float:
    return round(time.monotonic() - started, 1)
