"""Compares the jobs with the simplest correct code: ids made, acks folded and items written a second a core.

``python -m lab.pipeline.bulk`` alternates the two in one session and prints the median of some rounds: ids
made by the job's column functions, and by a Python function for each row; acks folded by the job, and by a
Python function for each row with a set of bits for each page; and, on the local run's tables from one
process, a write for each page, and one for each item.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanin.local import LocalRun
from fanin.local.emulator_process.connection import ACCOUNT
from fanin.tracker import Ack, Batch, GroupId, ItemId, OpenBatch, PageMasks, Tracker
from fanin.tracker.rules.page import PAGE_BITS_MAX, mask_of
from pipeline.bulk_ack import frames
from pipeline.bulk_ack.on_spark import SparkEngine
from pipeline.fan_out import messages
from pipeline.shared_by_jobs.session import spark_session
from pipeline.table_frames.tables import Tables

CORES = 2
ITEMS, FEW = 10_000_000, 1_000_000
"""Rows for the job's code, and for the slower code."""
PAGES, SINGLES = 2_000, 2_000
ROUNDS = 3

Ways = dict[str, tuple[int, Callable[[], object]]]
"""For each way, the number of rows and its work; the job's first."""


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(what: str, ways: Ways, cores: int = CORES) -> None:
    """Print the rows a second and core of each way (rows, work), measured alternately, and their ratios."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for name, (_, work) in [each for _ in range(ROUNDS) for each in ways.items()]:
        times[name].append(seconds(work))
    rates = {name: ways[name][0] / statistics.median(times[name]) / cores for name in ways}
    first = next(iter(rates.values()))
    for name, rate in rates.items():
        print(f"{what:>6}: {name:<28} {rate:>12,.0f} rows/s a core   1 : {rate / first:.4f}", flush=True)


def drop(frame: DataFrame) -> None:
    """Compute every row, and store none."""
    frame.write.format("noop").mode("overwrite").save()


class Bench:
    """A batch of ten million items in the local run's tables, and a Spark session."""

    def __init__(self, spark: SparkSession, tables: Tables) -> None:
        self.spark, self.tables, self.tracker = spark, tables, Tracker(tables.store)
        self.batch, self.group = self.opened(ITEMS)

    def opened(self, items: int) -> tuple[Batch, str]:
        """Return a new batch of *items* items, and the id of its group."""
        batch = self.tracker.open(ACCOUNT, OpenBatch())
        return batch, self.tracker.add(ACCOUNT, batch.batch_id, items).groups[0].id

    def ids(self, items: int) -> DataFrame:
        """Return (position, item_id, record) of the first *items* items."""
        return messages.with_item_ids(self.positions(items), self.batch.batch_id, self.group)

    def positions(self, items: int) -> DataFrame:
        return self.spark.range(items).select(
            F.col("id").alias("position"), F.struct(F.lit(1)).alias("record")
        )

    def make_ids(self) -> Ways:
        head = f"{self.batch.batch_id}:{self.group}:"
        row_by_row = F.udf(lambda position: f"{head}{position}")
        slow = self.positions(FEW).select("position", row_by_row("position").alias("item_id"), "record")
        return {
            "column functions": (ITEMS, lambda: drop(self.ids(ITEMS))),
            "a Python function a row": (FEW, lambda: drop(slow)),
        }

    def fold_acks(self, folder: Path) -> Ways:
        """Compare folding: both read ids from files, check their tags, and make one bitmap for each page."""
        for name, items in (("many", ITEMS), ("few", FEW)):
            order = self.ids(items).select("item_id").orderBy(F.xxhash64("item_id"))
            order.write.parquet(str(folder / name))
        logs = SparkEngine(self.spark).list_logs([str(folder / "many")])
        few = self.spark.read.parquet(str(folder / "few"))
        return {
            "arrow and numpy in the task": (
                ITEMS,
                lambda: drop(frames.fold(self.spark, logs, self.tables, ACCOUNT)),
            ),
            "a Python function a row": (FEW, lambda: drop(by_rows(few, self.batch))),
        }

    def write(self) -> Ways:
        """Compare writing: one write for each folded page, and one for each item."""
        rounds = iter([self.opened(PAGES * PAGE_BITS_MAX) for _ in range(ROUNDS)])
        singles = iter(range(ROUNDS))
        full = PageMasks(mask_of(0, PAGE_BITS_MAX - 1), 0)

        def by_pages() -> None:
            batch, _ = next(rounds)
            for at in range(0, PAGES, 100):
                pages = dict.fromkeys(range(at, at + 100), full)
                self.tracker.ack_pages(ACCOUNT, batch.batch_id, pages, "bench")

        def by_items() -> None:
            turn = next(singles)
            for index in range(turn * SINGLES, (turn + 1) * SINGLES):
                item = ItemId(self.batch.batch_id, self.group, index)
                self.tracker.ack(ACCOUNT, [Ack.of(item, "bench")])

        return {
            "a write a page": (PAGES * PAGE_BITS_MAX, by_pages),
            "a write an item": (SINGLES, by_items),
        }


def by_rows(logs: DataFrame, batch: Batch) -> DataFrame:
    """Return (page, bits) of the ids in *logs*, parsing and checking each separately."""

    def place(item_id: str) -> int | None:
        item = ItemId.parse(item_id)
        group = GroupId.decode(item.group_id)
        if group is None or not group.is_of(batch.salt, batch.batch_id) or item.index >= group.upto:
            return None
        return group.start + item.index

    found = logs.select(F.udf(place, "long")("item_id").alias("place"))
    page, bit = F.expr(f"place div {PAGE_BITS_MAX}"), F.expr(f"place % {PAGE_BITS_MAX}")
    return found.groupBy(page.alias("page")).agg(F.collect_set(bit).alias("bits"))


def main() -> None:
    with LocalRun.start() as run, tempfile.TemporaryDirectory() as folder:
        os.environ.update(run.environment)
        tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        with spark_session("bulk", cores=str(CORES)) as spark:
            bench = Bench(spark, tables)
            compare("ids", bench.make_ids())
            compare("acks", bench.fold_acks(Path(folder)))
            compare("writes", bench.write(), cores=1)


if __name__ == "__main__":
    main()
