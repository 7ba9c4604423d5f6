"""bulk_ack by Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipeline.bulk_ack import frames, run, write
from pipeline.bulk_ack.logs import listed_in, refuse_hidden
from pipeline.bulk_ack.rows import PAGE_COUNTS
from pipeline.bulk_ack.run import PROGRESS_SECONDS, BulkAckRequest, Folded
from pipeline.bulk_ack.write import Tally, Target
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.progress import Report, counter, counting, is_of_this_machine, watching
from pipeline.shared_by_jobs.stages import cached, slots_of


@dataclass(frozen=True, slots=True)
class SparkFold:
    """Folded logs, cached until they are written by so many *tasks*."""

    frame: DataFrame
    tasks: int
    counts: Folded

    def save_rejected(self, path: str) -> None:
        """Save the rejected rows at *path*."""
        frames.rejected(self.frame).write.mode("overwrite").parquet(path)

    def mark(self, request: BulkAckRequest, progress: Callable[[Tally], None]) -> list[dict[str, Any]]:
        """Write the pages to the tracker; return OUTCOMES, one row per batch."""
        spark = self.frame.sparkSession
        tally = Tally(counter(spark), counter(spark))
        target = request.target(slots_of(spark).count)
        with counting(spark, PROGRESS_SECONDS, lambda: progress(tally)):
            outcomes = frames.mark(frames.blocks(self.frame), target, tally, self.tasks)
            return write.united(row.asDict() for row in outcomes.collect())

    def keep_reasons(self, target: Target) -> None:
        """Store why items failed."""
        frames.keep_reasons(frames.reasons(self.frame), target)


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs bulk_ack in a session of Spark."""

    spark: SparkSession

    def list_logs(self, paths: Sequence[str]) -> list[ListedFile]:
        """Return the logs in *paths*. Raises UnreadableLog, and NotListed.

        Spark that runs in processes of this machine needs no query to list files of this machine.
        """
        if is_of_this_machine(self.spark) and not any("://" in path for path in paths):
            return listed_in(paths)
        return self.list_by_query(paths)

    def list_by_query(self, paths: Sequence[str]) -> list[ListedFile]:
        """Return the logs in *paths*, wherever Spark finds them. Raises UnreadableLog."""
        for path in paths:
            refuse_hidden(path)
        reader = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        return frames.files(reader.load(list(paths)))

    def count(self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report) -> Folded:
        """Fold *logs* and return only the counts, by one query: nothing is kept."""
        frame = frames.fold(self.spark, logs, request.tables, request.tenant, counts_only=True)
        with watching(self.spark, report):
            return _counts(frame)

    @contextmanager
    def fold(
        self, logs: Sequence[ListedFile], request: BulkAckRequest, report: Report
    ) -> Iterator[SparkFold]:
        """Fold *logs*, and keep them while the body runs."""
        slots = slots_of(self.spark)
        with cached(frames.fold(self.spark, logs, request.tables, request.tenant)) as (frame,):
            with watching(self.spark, report):
                counts = _counts(frame)
            tasks = slots.paced(run.write_tasks(counts.pages, slots.count), request.rate).tasks
            yield SparkFold(frame, tasks, counts)


def _counts(folded: DataFrame) -> Folded:
    """Return the sums of COUNTS."""
    found = frames.counts(folded).collect()
    sums = {name: sum(row[name] or 0 for row in found) for name in PAGE_COUNTS}
    numbers: Counter[str | None] = Counter()
    for row in found:
        numbers[row.refusal] += row.rows or 0
    return Folded(numbers.pop(None, 0), {name: count for name, count in numbers.items() if name}, **sums)
