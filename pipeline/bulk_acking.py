"""Acks in bulk what ack logs say: once over files, or as files arrive.

Logs -> one bitmap a page -> the tracker's own code, one write a page. Bits are only ever set, so all of it
may be said again: a second run over the same logs, a task or a micro-batch that is repeated, changes nothing.
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
from pyspark.sql.streaming import StreamingQuery

from fanin.tracker import State, Verdict
from pipeline import acklogs, acks, cost, schemas
from pipeline.acks import LogFile, Tally
from pipeline.marking import Target
from pipeline.progress import Report, every, moving, watching
from pipeline.tables import Tables

PROGRESS_SECONDS = 1.0
ANY_AGE = "36500d"
"""How old a file may be that arrives. Spark itself is silent on one that is a week older than the newest."""
QUERY = "sql.streaming.queryId"
"""Where Spark tells a micro-batch the id of its stream, which lies in the checkpoint and is in no other."""
BLOCKS_A_TASK = 256
MOST_TASKS = 10_000
"""Tasks that mark pages: some seconds each, so that one that is run again repeats little."""
SUMMED = [field.name for field in schemas.MARKED if field.name != "batch_id"]


class Counts(dict[str, int]):
    """How many of what, in words: ``3 foreign, 1 malformed``."""

    def __format__(self, _: str) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in sorted(self.items())) or "none"


@dataclass(frozen=True, slots=True)
class Order:
    """Whose acks are marked, and where rows go that set no bit; *run* names this run in both.

    *rate* is for all executors together, in write units a second.
    """

    tables: Tables
    tenant: str
    aside: str
    run: str
    rate: float | None = None

    def target(self, slots: int) -> Target:
        """What each of *slots* tasks at once may do."""
        return Target(
            self.tables, self.tenant, f"bulk-ack:{self.run}", self.rate / slots if self.rate else None
        )


@dataclass(frozen=True, slots=True)
class Folded:
    """What the logs say: rows by what became of them, and *items* and *failed* ones in *pages* of words."""

    acks: int
    aside: dict[str, int]
    pages: int
    items: int
    failed: int

    @property
    def facts(self) -> dict[str, Any]:
        put = sum(self.aside.values())
        return {
            "acks": self.acks + put,
            "items": self.items,
            "repeated": self.acks - self.items,
            "failures": self.failed,
            "pages": self.pages,
            "aside": put,
            "why": Counts(self.aside),
        }


@dataclass(frozen=True, slots=True)
class Fold:
    """Logs that are folded, and kept so until they are marked, in so many *tasks*."""

    frame: DataFrame
    words: DataFrame
    tasks: int
    told: Folded


def list_logs(spark: SparkSession, paths: Sequence[str]) -> list[LogFile]:
    """The logs in *paths*: files, folders with all below them, patterns. Raises UnreadableLog."""
    for path in paths:
        acklogs.refuse_hidden(path)
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return acks.files(reader.load(list(paths)))


def bulk_ack(spark: SparkSession, logs: Sequence[LogFile], order: Order, report: Report) -> Counter[str]:
    """Carry *order* out over *logs*: what became of them, by the names of MARKED, and ``aside``."""
    started = time.monotonic()
    with _folded(spark, logs, order, report) as fold:
        _save_aside(fold, order, report)
        outcomes = _mark(fold, order, report)
        totals: Counter[str] = Counter({name: sum(one[name] for one in outcomes) for name in SUMMED})
        if fold.told.failed:
            acks.keep_reasons(acks.reasons(fold.frame), order.target(1))
    totals["aside"] = sum(fold.told.aside.values())
    states = Counter(one["state"] or "gone" for one in outcomes)
    report("acked", {**fold.told.facts, **_facts(totals, states), "seconds": _since(started)})
    return totals


def preview(spark: SparkSession, logs: Sequence[LogFile], order: Order, report: Report) -> None:
    """Fold *logs* and tell what marking them would ask of AWS at the most; nothing is written."""
    with _folded(spark, logs, order, report) as fold:
        failing = fold.words.where(F.bitmap_count("failed") > 0).count()
        report("estimate", {**fold.told.facts, **cost.estimate_acks(fold.told.pages, failing).facts()})


def stream(
    spark: SparkSession, path: str, checkpoint: str, order: Order, report: Report, seconds: float | None
) -> StreamingQuery:
    """Ack what arrives in the folder *path*, each file once, in micro-batches; started, to be waited for.

    *seconds* between them; None: what is there now, and then the end. *checkpoint* remembers the files that
    are done, and with them the name of the run. A micro-batch that is repeated puts the same rows aside in
    the same place.
    """

    def ack(listed: DataFrame, epoch: int) -> None:
        query = spark.sparkContext.getLocalProperty(QUERY)
        bulk_ack(listed.sparkSession, acks.files(listed), replace(order, run=f"{query}-{epoch}"), report)

    reader = spark.readStream.format("binaryFile").schema(acks.LISTED)
    reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", ANY_AGE)
    listed = reader.load(path).select("path", "length")
    writer = listed.writeStream.foreachBatch(ack).option("checkpointLocation", checkpoint)
    trigger = {"availableNow": True} if seconds is None else {"processingTime": f"{seconds} seconds"}
    return writer.trigger(**trigger).start()


@contextmanager
def _folded(spark: SparkSession, logs: Sequence[LogFile], order: Order, report: Report) -> Iterator[Fold]:
    context, started = spark.sparkContext, time.monotonic()
    frame = acks.fold(spark, logs, order.tables, order.tenant).persist()
    words = None
    try:
        with watching(context, report):
            counts = _counts(frame)
            tasks = max(context.defaultParallelism, min(MOST_TASKS, ceil(counts["blocks"] / BLOCKS_A_TASK)))
            words = acks.words(acks.blocks(frame), tasks).persist()
            told = _told(counts, words)
        report("folded", {**told.facts, "files": len(logs), "seconds": _since(started)})
        yield Fold(frame, words, tasks, told)
    finally:
        frame.unpersist()
        if words is not None:
            words.unpersist()


def _counts(folded: DataFrame) -> Counter[str]:
    """How many ``acks`` and ``blocks`` there are, and rows that are put aside under the word why."""
    measures = (F.coalesce(F.sum("acks"), F.lit(0)).alias("acks"), F.count("block").alias("blocks"))
    rows = folded.groupBy("aside.refusal").agg(*measures, F.count("aside").alias("aside")).collect()
    found: Counter[str] = Counter()
    for row in rows:
        found.update({"acks": row.acks, "blocks": row.blocks})
        if row.refusal is not None:
            found[f"aside {row.refusal}"] += row.aside
    return found


def _told(counts: Counter[str], words: DataFrame) -> Folded:
    measures = [F.coalesce(F.sum(F.bitmap_count(name)), F.lit(0)).alias(name) for name in ("bits", "failed")]
    (row,) = words.agg(F.count("*").alias("pages"), *measures).collect()
    aside = {
        name.removeprefix("aside "): count for name, count in counts.items() if name.startswith("aside ")
    }
    return Folded(counts["acks"], aside, row.pages, row.bits, row.failed)


def _save_aside(fold: Fold, order: Order, report: Report) -> None:
    """Save the rows that set no bit before anything is marked; where this run was here before, once more."""
    if fold.told.aside:
        path = f"{order.aside.rstrip('/')}/run={order.run}"
        acks.aside(fold.frame).write.mode("overwrite").parquet(path)
        report("aside", {"path": path, "rows": sum(fold.told.aside.values()), "why": fold.told.facts["why"]})


def _mark(fold: Fold, order: Order, report: Report) -> list[dict[str, Any]]:
    """Mark the words; OUTCOMES, batch by batch."""
    context, started = fold.words.sparkSession.sparkContext, time.monotonic()
    tally = Tally(context.accumulator(0), context.accumulator(0))
    target = order.target(context.defaultParallelism)

    moved = moving(report, "done")

    def tell() -> None:
        done = {"done": min(tally.pages.value, fold.told.pages), "fresh": tally.fresh.value}
        moved("progress", {**done, "pages": fold.told.pages, "seconds": _since(started)})

    with every(PROGRESS_SECONDS, tell):
        return [
            row.asDict()
            for row in acks.by_batch(acks.mark(fold.words, target, tally, fold.tasks), target).collect()
        ]


def _facts(totals: Counter[str], states: Counter[str]) -> dict[str, Any]:
    """What the closing line says of the tracker."""
    late = {str(verdict): totals[verdict] for verdict in Verdict if verdict not in _TRUE}
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


_TRUE = (Verdict.ACCEPTED, Verdict.DUPLICATE)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 1)
