"""Finds the outstanding items of a batch as rows of its source, and saves them with a label."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.fan_out import manifest
from pipeline.fan_out import parts as numbering
from pipeline.reconcile.outstanding import unfinished, wanted
from pipeline.reconcile.rules import (
    LABEL,
    NAMED,
    CannotReconcile,
    Label,
    Part,
    ReconcileRequest,
    batch_of,
    refuse_malformed,
)
from pipeline.reconcile.steps import labelled_part, report_batch, report_saved, require_manifest
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.bitmaps import Longs
from pipeline.shared_by_jobs.output import is_committed, refuse_committed, refuse_foreign
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.shared_by_jobs.stages import cached
from pipeline.table_frames.frames import TableSnapshot
from pipeline.table_frames.rows import Facts

RANGES_MAX = 16
"""The most ranges. The condition of each is evaluated for every row that is read: with 64 ranges that held
nine tenths of 10^8 rows, the job took five times the CPU of reading all."""
SHARE_MAX = 0.1
"""The most rows in several ranges, as a share: of more, their condition takes longer than it saves."""


def covering(
    pages: Longs, part: Part, most: int = RANGES_MAX, share: float = SHARE_MAX
) -> list[tuple[int, int]]:
    """Return at most *most* ranges of indexes that hold all items of *part* in the leaves *pages*.

    Each is (first, last), both inclusive; they are ascending and disjoint. The rows left out are the widest
    gaps between leaves. If the ranges hold more than *share* of the items, the one range of all leaves is
    returned.
    """
    if not pages.size:
        return []
    found = _ranges(np.unique(pages), part, most)
    held = sum(last - first + 1 for first, last in found)
    return found if held <= share * part.upto else [(found[0][0], found[-1][1])]


def _ranges(ordered: Longs, part: Part, most: int) -> list[tuple[int, int]]:
    gaps = np.diff(ordered)
    widest = np.argsort(-gaps, kind="stable")[: most - 1]
    cuts = np.sort(widest[gaps[widest] > 1])
    firsts = ordered[np.concatenate([[0], cuts + 1])] * part.page_bits - part.start
    ends = (ordered[np.concatenate([cuts, [-1]])] + 1) * part.page_bits - part.start
    lasts = np.minimum(ends, part.upto) - 1
    return list(zip(np.maximum(firsts, 0).tolist(), lasts.tolist(), strict=True))


BROADCAST_PAGES = 1_000_000
"""The most leaves that are broadcast, 128 bytes each; more are joined by a shuffle, with all rows."""


def reconcile(
    spark: SparkSession, snapshot: TableSnapshot, request: ReconcileRequest, report: Report
) -> dict[str, int]:
    """Save the outstanding items at ``request.saved``; return the numbers outstanding and failed."""
    refuse_committed(request.saved)
    refuse_foreign(spark, request.saved, [*schemas.OUTSTANDING.names, "record"])
    with cached(snapshot.rows) as (kept,):
        return _reconcile(spark, TableSnapshot(snapshot.taken_at, kept), request, report)


def _reconcile(
    spark: SparkSession, snapshot: TableSnapshot, request: ReconcileRequest, report: Report
) -> dict[str, int]:
    started = time.monotonic()
    batch = _batch(snapshot, request.batch_id)
    report_batch(batch, snapshot.taken_at, report)
    require_manifest(request.source)
    source = manifest.load(spark, request.source)
    parts = manifest.count(source)
    rows = sum(each.rows for each in parts)
    part, label = labelled_part(batch, rows, request, snapshot.taken_at)
    wanted_leaves = _wanted(spark, snapshot.pages, part, request.failed)
    with watching(spark, report), cached(wanted_leaves) as (leaves,):
        save(_outstanding(source, parts, leaves, part), label, request.saved)
    counts = count(load(spark, request.saved)[1])
    report_saved(counts, rows, request.saved, started, report)
    return counts


def save(rows: DataFrame, label: Label, path: str) -> None:
    """Commit *rows* (OUTSTANDING with *record*) to *path*, replacing an uncommitted write."""
    rows.withMetadata("position", label.metadata).write.mode("overwrite").parquet(path)


def load(spark: SparkSession, path: str) -> tuple[Label, DataFrame]:
    """Return what `save` committed to *path*. Raises CannotReconcile if nothing is there."""
    if not is_committed(path):
        raise CannotReconcile(f"nothing that reconcile saved is at {path}")
    rows = spark.read.parquet(path)
    about = rows.schema["position"].metadata if "position" in rows.columns else {}
    if LABEL not in about:
        raise CannotReconcile(f"{path} does not hold rows that reconcile saved")
    return Label(**json.loads(about[LABEL])), rows


def count(rows: DataFrame) -> dict[str, int]:
    """Return how many of the saved items are outstanding, and how many failed."""
    counted = rows.groupBy("failed").agg(F.count("*").alias("items")).collect()
    found = {row.failed: row.items for row in counted}
    return {"outstanding": found.get(False, 0), "failed": found.get(True, 0)}


def _batch(snapshot: TableSnapshot, batch_id: str) -> Facts:
    """Return the row of the batch (BATCHES). Raises CannotReconcile if its pages are not reliable."""
    malformed = snapshot.malformed.limit(NAMED).collect()
    refuse_malformed([(row.location, row.problem) for row in malformed])
    found = snapshot.batches.where(F.col("batch_id") == batch_id).toArrow().to_pylist()
    return batch_of(found, batch_id, snapshot.taken_at)


def _wanted(spark: SparkSession, pages: DataFrame, part: Part, failed: bool) -> DataFrame:
    """Return WANTED of the group's leaves."""
    leaves = spark.range(part.leaves.start, part.leaves.stop).withColumnRenamed("id", "page")
    return wanted(leaves, pages, part, failed)


def _outstanding(
    source: manifest.Manifest, parts: Sequence[numbering.Part], leaves: DataFrame, part: Part
) -> DataFrame:
    """Return OUTSTANDING with *record*; if *leaves* (WANTED) are few, only ranges around them are read."""
    if leaves.count() <= BROADCAST_PAGES:
        source = manifest.between(source, parts, covering(_pages(leaves), part))
        leaves = F.broadcast(leaves)
    return unfinished(manifest.positions(source, parts), leaves, part)


def _pages(leaves: DataFrame) -> Longs:
    """Return the page numbers of WANTED."""
    pages: Longs = leaves.select("page").toArrow().column("page").to_numpy()
    return pages
