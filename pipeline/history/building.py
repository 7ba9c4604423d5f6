"""Builds the tables of the history and writes each as Parquet under its name, replacing an earlier one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from pipeline.fan_out import manifest
from pipeline.history import deliveries, grouping, latency, lifecycle
from pipeline.history import items as of_items
from pipeline.history.changes.archive import Archive, Days
from pipeline.history.changes.reading import changes
from pipeline.spark import datasets
from pipeline.spark.progress import Report


@dataclass(frozen=True, slots=True)
class Sources:
    """The inputs of a history.

    *archive*: the folder with the ``table=`` folders, a path or an ``s3://`` URI. *ack_log*: every ack that
    consumers sent, as a dataset with the columns of ACKS and, for latencies, ``at`` and ``sent_at``.
    *manifests*: paths of fan_out's manifests by batch id.
    """

    archive: str
    days: Days = field(default_factory=Days)
    ack_log: str | None = None
    manifests: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Tables:
    """The tables of this run under the folder *root*, by *names*.

    *since*, *until*: the times of the first and the last change in the archive.
    """

    spark: SparkSession
    root: str
    report: Report
    since: datetime | None = None
    until: datetime | None = None
    names: set[str] = field(default_factory=set)

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Write *frame* as the table *name*; return the table as written."""
        started = time.monotonic()
        counted = Observation(name)
        observed = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        observed.write.mode("overwrite").parquet(self.path(name))
        self.names.add(name)
        facts = {"name": name, "path": self.path(name), "rows": counted.get["rows"]}
        self.report("table", facts | {"seconds": round(time.monotonic() - started, 1)})
        return self[name]

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def __getitem__(self, name: str) -> DataFrame:
        return self.spark.read.parquet(self.path(name))


def build(spark: SparkSession, sources: Sources, root: str, report: Report) -> Tables:
    """Write every table under *root*. Raises NotAnArchive, and MalformedLine from the executors."""
    archive = Archive(sources.archive)
    archive.check()
    tables = Tables(spark, root, report)
    frames = [changes(spark, archive, kind, sources.days) for kind in ("pages", "batches")]
    with _held(*frames) as (pages, rows):
        tables.since, tables.until = _span(pages, rows)
        _of_batches(tables, pages, rows)
        _of_latency(tables, rows, _log(tables, sources.ack_log), sources.manifests)
    _of_groups(tables, lambda kind: changes(spark, archive, kind, sources.days))
    return tables


def _of_batches(tables: Tables, pages: DataFrame, rows: DataFrame) -> None:
    batches, each, counted = lifecycle.batches(rows), of_items.items(pages), of_items.counted(pages)
    positioned = tables.keep("items", of_items.positioned(each, batches))
    timed = tables.keep("throughput", of_items.throughput(positioned, counted))
    tables.keep("groups", lifecycle.groups(rows))
    acks, until = lifecycle.acking(timed, positioned), F.lit(tables.until or datetime.now(UTC))
    tables.keep(
        "batches", lifecycle.lifecycle(batches, of_items.filled(pages), acks, lifecycle.events(rows), until)
    )


def _of_latency(tables: Tables, rows: DataFrame, log: DataFrame | None, manifests: Mapping[str, str]) -> None:
    positioned, taken = tables["items"], latency.since_start(tables["items"], tables["batches"])
    reasons = lifecycle.reasons(rows).withColumn("source", F.lit("sample"))
    if log is not None:
        taken = taken.unionByName(deliveries.since_sent(log))
        reasons = reasons.unionByName(deliveries.said(log).withColumn("source", F.lit("log")))
        tables.keep("deliveries", deliveries.repeats(log))
    shares = tables.keep("latencies", latency.percentiles(taken))
    tables.keep("histogram", latency.histogram(taken, shares))
    tail = tables.keep("tails", latency.tails(tables["throughput"]))
    late = latency.stragglers(positioned, tail, tables["groups"])
    tables.keep("stragglers", latency.with_records(late, _records(tables.spark, manifests)))
    tables.keep("reasons", reasons)


def _of_groups(tables: Tables, read: Callable[[str], DataFrame]) -> None:
    with _held(read("bundles"), read("tasks"), read("jobs")) as (bundles, tasks, jobs):
        made = tables.keep("bundles", grouping.bundles(bundles))
        bundled = tables.keep("tasks", grouping.tasks(tasks, made))
        queued = tables.keep("jobs", grouping.jobs(jobs))
    tables.keep("targets", grouping.targets(bundled, made))
    tables.keep("sizes", grouping.sizes(made))
    tables.keep("queues", grouping.queues(queued))


def _log(tables: Tables, path: str | None) -> DataFrame | None:
    if path is None:
        return None
    return deliveries.deliveries(datasets.read_dataset(tables.spark, path), tables["groups"])


def _records(spark: SparkSession, manifests: Mapping[str, str]) -> DataFrame:
    """Return (batch_id, position, record): the rows of the batches' datasets as JSON."""
    made = spark.createDataFrame([], "batch_id string, position long, record string")
    for batch_id, path in manifests.items():
        loaded, _ = manifest.load(spark, path)
        positioned = manifest.positions(loaded, manifest.count(loaded))
        record = F.to_json("record").alias("record")
        made = made.unionByName(positioned.select(F.lit(batch_id).alias("batch_id"), "position", record))
    return made


def _span(pages: DataFrame, rows: DataFrame) -> tuple[datetime | None, datetime | None]:
    """Return the times of the first and the last change in the archive."""
    moments = pages.select("at").unionByName(rows.select("at"))
    ends = moments.agg(F.min("at").alias("since"), F.max("at").alias("until")).first()
    if ends is None or ends.since is None:
        return None, None
    return ends.since.astimezone(UTC), ends.until.astimezone(UTC)


@contextmanager
def _held(*frames: DataFrame) -> Iterator[tuple[DataFrame, ...]]:
    """Yield *frames*, cached while the body runs."""
    kept = tuple(frame.persist() for frame in frames)
    try:
        yield kept
    finally:
        for frame in kept:
            frame.unpersist()
