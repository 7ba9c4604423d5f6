"""Builds the tables of the history and writes each as Parquet under its name, replacing an earlier one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from pipeline.fan_out import manifest
from pipeline.history_tables import deliveries, grouping, latency, lifecycle
from pipeline.history_tables import items as of_items
from pipeline.history_tables.change_frames.archive import Archive, Days
from pipeline.history_tables.change_frames.reading import changes
from pipeline.shared_by_jobs import datasets
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.shared_by_jobs.stages import cached


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


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables under the folder *root*."""

    spark: SparkSession
    root: str
    report: Report

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Write *frame* as the table *name*; return the table as written."""
        started = time.monotonic()
        counted = Observation(name)
        observed = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        observed.write.mode("overwrite").parquet(self.path(name))
        facts = {"name": name, "path": self.path(name), "rows": counted.get["rows"]}
        self.report("table", facts | {"seconds": round(time.monotonic() - started, 1)})
        return self[name]

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def __getitem__(self, name: str) -> DataFrame:
        return self.spark.read.parquet(self.path(name))


def _no_report(_event: str, _facts: dict[str, Any]) -> None:
    """Ignore progress."""


def build(spark: SparkSession, sources: Sources, out: str, report: Report = _no_report) -> None:
    """Write every table into the folder *out*; *report* receives an event for each, and one at the end.

    Raises NotAnArchive; a malformed line stops the job.
    """
    started = time.monotonic()
    archive, tables = Archive(sources.archive), Tables(spark, out.rstrip("/"), report)
    archive.check()
    with watching(spark, report):
        _of_batches(tables, archive, sources)
        _of_groups(tables, lambda kind: changes(spark, archive, kind, sources.days))
    ((batches, items),) = tables["batches"].agg(F.count("*"), F.sum("acked")).collect()
    seconds = round(time.monotonic() - started, 1)
    report("saved", {"path": out, "batches": batches, "items": items or 0, "seconds": seconds})


def _of_batches(tables: Tables, archive: Archive, sources: Sources) -> None:
    frames = [changes(tables.spark, archive, kind, sources.days) for kind in ("pages", "batches")]
    with cached(*frames) as (pages, rows):
        (span,) = tables.keep("archive", _span(pages, rows, archive.root)).collect()
        _of_lifecycle(tables, pages, rows, F.lit(span.until or datetime.now(UTC)))
        _of_latency(tables, rows, _log(tables, sources.ack_log), sources.manifests)


def _of_lifecycle(tables: Tables, pages: DataFrame, rows: DataFrame, until: Column) -> None:
    batches, each, counted = lifecycle.batches(rows), of_items.items(pages), of_items.counted(pages)
    positioned = tables.keep("items", of_items.positioned(each, batches))
    timed = tables.keep("throughput", of_items.throughput(positioned, counted))
    tables.keep("groups", lifecycle.groups(rows))
    acks = lifecycle.acking(timed, positioned)
    tables.keep(
        "batches", lifecycle.lifecycle(batches, of_items.filled(pages), acks, lifecycle.events(rows), until)
    )


def _of_latency(tables: Tables, rows: DataFrame, log: DataFrame, manifests: Mapping[str, str]) -> None:
    positioned = tables["items"]
    taken = latency.since_start(positioned, tables["batches"]).unionByName(deliveries.since_sent(log))
    reasons = lifecycle.reasons(rows).withColumn("source", F.lit("sample"))
    from_log = deliveries.reported_reasons(log).withColumn("source", F.lit("log"))
    tables.keep("deliveries", deliveries.repeats(log))
    shares = tables.keep("latencies", latency.percentiles(taken))
    tables.keep("histogram", latency.histogram(taken, shares))
    tail = tables.keep("tails", latency.tails(tables["throughput"]))
    late = latency.stragglers(positioned, tail, tables["groups"])
    tables.keep("stragglers", latency.with_records(late, _records(tables.spark, manifests)))
    tables.keep("reasons", reasons.unionByName(from_log))


def _of_groups(tables: Tables, read: Callable[[str], DataFrame]) -> None:
    with cached(read("bundles"), read("tasks"), read("jobs")) as (bundles, tasks, jobs):
        of_bundles = tables.keep("bundles", grouping.bundles(bundles))
        of_tasks = tables.keep("tasks", grouping.tasks(tasks, of_bundles))
        of_jobs = tables.keep("jobs", grouping.jobs(jobs))
    tables.keep("targets", grouping.targets(of_tasks, of_bundles))
    tables.keep("sizes", grouping.sizes(of_bundles))
    tables.keep("queues", grouping.queues(of_jobs))


def _log(tables: Tables, path: str | None) -> DataFrame:
    """Return the rows of the ack log; without one, none."""
    if path is None:
        log = tables.spark.createDataFrame([], "item_id string")
    else:
        log = datasets.read_dataset(tables.spark, path)
    return deliveries.deliveries(log, tables["groups"])


def _records(spark: SparkSession, manifests: Mapping[str, str]) -> DataFrame:
    """Return (batch_id, position, record): the rows of the batches' datasets as JSON."""
    records = spark.createDataFrame([], "batch_id string, position long, record string")
    for batch_id, path in manifests.items():
        loaded = manifest.load(spark, path)
        positioned = manifest.positions(loaded, manifest.count(loaded))
        records = records.unionByName(
            positioned.select(F.lit(batch_id).alias("batch_id"), "position", "record")
        )
    return records


def _span(pages: DataFrame, rows: DataFrame, root: str) -> DataFrame:
    """Return (path, since, until): the archive, and the times of its first and its last change."""
    ends = pages.select("at").unionByName(rows.select("at")).agg(F.min("at"), F.max("at"))
    return ends.toDF("since", "until").select(F.lit(root).alias("path"), "since", "until")
