"""bulk_ack by Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.bulk_ack import frames, run
from pipeline.bulk_ack.logs import refuse_hidden
from pipeline.bulk_ack.rows import PAGE_COUNTS
from pipeline.bulk_ack.run import PROGRESS_SECONDS, BulkAckRequest, Folded
from pipeline.bulk_ack.write import Tally, Target
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.progress import Report, counter, counting, watching
from pipeline.shared_by_jobs.stages import cached, slots_of


@dataclass(frozen=True, slots=True)
class SparkFold:
    """Folded logs, cached until they are written by so many *tasks*."""

    frame: DataFrame
    page_masks: DataFrame
    tasks: int
    counts: Folded

    def save_rejected(self, path: str) -> None:
        """Save the rejected rows at *path*."""
        frames.rejected(self.frame).write.mode("overwrite").parquet(path)

    def mark(self, request: BulkAckRequest, progress: Callable[[Tally], None]) -> list[dict[str, Any]]:
        """Write the page masks to the tracker; return OUTCOMES, one row per batch."""
        spark = self.page_masks.sparkSession
        tally = Tally(counter(spark), counter(spark))
        target = request.target(slots_of(spark).count)
        with counting(spark, PROGRESS_SECONDS, lambda: progress(tally)):
            marked = frames.mark(self.page_masks, target, tally, self.tasks)
            return [row.asDict() for row in frames.by_batch(marked, target).collect()]

    def keep_reasons(self, target: Target) -> None:
        """Store why items failed."""
        frames.keep_reasons(frames.reasons(self.frame), target)


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs bulk_ack in a session of Spark."""

    spark: SparkSession

    def list_logs(self, paths: Sequence[str]) -> list[ListedFile]:
        """Return the logs in *paths*. Raises UnreadableLog."""
        for path in paths:
            refuse_hidden(path)
        reader = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        return frames.files(reader.load(list(paths)))

    def count(self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> Folded:
        """Fold *logs* and return only the counts, by one query: nothing is kept."""
        with watching(self.spark, report):
            found = frames.counts(self.spark, logs, request.tables, request.tenant).collect()
        sums = {name: sum(row[name] or 0 for row in found) for name in PAGE_COUNTS}
        numbers: Counter[str | None] = Counter()
        for row in found:
            numbers[row.refusal] += row.rows or 0
        return Folded(numbers.pop(None, 0), {name: count for name, count in numbers.items() if name}, **sums)

    @contextmanager
    def fold(
        self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
    ) -> Iterator[SparkFold]:
        """Fold *logs*, and keep them while the body runs."""
        slots = slots_of(self.spark)
        all_folded = frames.fold(self.spark, logs, request.tables, request.tenant)
        with cached(all_folded) as (frame,), ExitStack() as stack:
            with watching(self.spark, report):
                counts = _counts(frame)
                tasks = slots.paced(run.write_tasks(counts["blocks"], slots.count), request.rate).tasks
                united = frames.page_masks(frames.blocks(frame), tasks)
                (page_masks,) = stack.enter_context(cached(united))
                folded = _totals(counts, page_masks)
            yield SparkFold(frame, page_masks, tasks, folded)


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
    bits, failed = F.bitmap_count("bits"), F.bitmap_count("failed")
    measures = (F.count("*"), F.sum(bits), F.sum(failed), F.sum((failed > 0).cast("int")))
    (row,) = page_masks.agg(*map(_or_zero, PAGE_COUNTS, measures)).collect()
    rejected = {
        name.removeprefix(_REJECTED): count for name, count in counts.items() if name.startswith(_REJECTED)
    }
    return Folded(counts["acks"], rejected, **row.asDict())


def _or_zero(name: str, measure: Column) -> Column:
    return F.coalesce(measure, F.lit(0)).alias(name)
