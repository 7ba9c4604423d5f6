"""Finds the outstanding items of a batch as rows of its source, and saves them with a label."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanin.tracker import GroupId, Mode, checked_batch_id
from pipeline.fan_out import manifest
from pipeline.fan_out import parts as numbering
from pipeline.reconcile.outstanding import Part, unfinished, wanted
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.bitmaps import Longs
from pipeline.shared_by_jobs.output import is_committed, refuse_committed, refuse_foreign
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.table_frames.frames import TableSnapshot
from pipeline.table_frames.rows import Facts, may_be_gone

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
NAMED = 5
"""Malformed rows that an error lists."""
_LABEL = "fanin.outstanding"


class CannotReconcile(ValueError):
    """Tables, manifest and request contradict each other; the message says how."""


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """The batch, the path of its manifest (*source*), and the path for the result (*saved*).

    *group_id*: the group whose items are the rows of the manifest; None if the batch has one group.
    *failed*: find failed items too.
    """

    batch_id: str
    source: str
    saved: str
    group_id: str | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        checked_batch_id(self.batch_id)


@dataclass(frozen=True, slots=True)
class Label:
    """The batch and group of saved rows; *taken_at* (ISO 8601): the time of the tables' state."""

    tenant: str
    batch_id: str
    group_id: str
    page_bits: int
    taken_at: str
    source: str


def reconcile(
    spark: SparkSession, snapshot: TableSnapshot, request: ReconcileRequest, report: Report
) -> dict[str, int]:
    """Save the outstanding items at ``request.saved``; return the numbers outstanding and failed."""
    refuse_committed(spark, request.saved)
    refuse_foreign(spark, request.saved, [*schemas.OUTSTANDING.names, "record"])
    kept = snapshot.rows.cache()
    try:
        return _reconcile(spark, TableSnapshot(snapshot.taken_at, kept), request, report)
    finally:
        kept.unpersist()


def _reconcile(
    spark: SparkSession, snapshot: TableSnapshot, request: ReconcileRequest, report: Report
) -> dict[str, int]:
    started, taken_at = time.monotonic(), snapshot.taken_at.isoformat()
    batch = _batch(snapshot, request.batch_id)
    report("batch", _facts(batch) | {"takenAt": taken_at})
    source = _source(spark, request.source)
    parts = manifest.count(source)
    rows = sum(each.rows for each in parts)
    part = part_of(batch, rows, request.group_id)
    label = Label(batch["tenant"], part.batch_id, part.group_id, part.page_bits, taken_at, request.source)
    with watching(spark.sparkContext, report):
        leaves = _wanted(spark, snapshot.pages, part, request.failed)
        save(_outstanding(source, parts, leaves, part), label, request.saved)
    counts = count(load(spark, request.saved)[1])
    seconds = round(time.monotonic() - started, 3)
    report("saved", {**counts, "rows": rows, "path": request.saved, "seconds": seconds})
    return counts


def save(rows: DataFrame, label: Label, path: str) -> None:
    """Commit *rows* (OUTSTANDING with *record*) to *path*, replacing an uncommitted write."""
    about = {_LABEL: json.dumps(asdict(label))}
    rows.withMetadata("position", about).write.mode("overwrite").parquet(path)


def load(spark: SparkSession, path: str) -> tuple[Label, DataFrame]:
    """Return what `save` committed to *path*. Raises CannotReconcile if nothing is there."""
    if not is_committed(spark, path):
        raise CannotReconcile(f"nothing that reconcile saved is at {path}")
    rows = spark.read.parquet(path)
    about = rows.schema["position"].metadata if "position" in rows.columns else {}
    if _LABEL not in about:
        raise CannotReconcile(f"{path} does not hold rows that reconcile saved")
    return Label(**json.loads(about[_LABEL])), rows


def count(rows: DataFrame) -> dict[str, int]:
    """Return how many of the saved items are outstanding, and how many failed."""
    counted = rows.groupBy("failed").agg(F.count("*").alias("items")).collect()
    found = {row.failed: row.items for row in counted}
    return {"outstanding": found.get(False, 0), "failed": found.get(True, 0)}


def _batch(snapshot: TableSnapshot, batch_id: str) -> Facts:
    """Return the row of the batch (BATCHES). Raises CannotReconcile if its pages are not reliable."""
    _refuse_malformed(snapshot)
    found = snapshot.batches.where(F.col("batch_id") == batch_id).toArrow().to_pylist()
    if len(found) != 1:
        raise CannotReconcile(f"batch {batch_id} has {len(found)} rows in what was read; expected one")
    batch: Facts = found[0]
    if batch["mode"] != Mode.EXACT:
        raise CannotReconcile(f"batch {batch_id} is estimated: it counts acks and keeps no items")
    if may_be_gone(batch, snapshot.taken_at):
        raise CannotReconcile(f"batch {batch_id} is so old that its pages may have been deleted")
    return batch


def _refuse_malformed(snapshot: TableSnapshot) -> None:
    """Raise CannotReconcile if any row is malformed: its items would count as outstanding."""
    malformed = snapshot.malformed.limit(NAMED).collect()
    if malformed:
        named = "".join(f"\n  {row.location}: {row.problem}" for row in malformed)
        raise CannotReconcile(f"malformed rows in the tables (at most {NAMED} are listed):{named}")


def _source(spark: SparkSession, path: str) -> manifest.Manifest:
    if not is_committed(spark, path):
        raise CannotReconcile(f"no manifest is committed at {path}")
    return manifest.load(spark, path)


def part_of(batch: Facts, rows: int, group_id: str | None) -> Part:
    """Return the group whose items are the *rows* of the manifest. Raises CannotReconcile."""
    batch_id, total = batch["batch_id"], batch["total"]
    counts = f"the manifest has {rows} rows, the batch {total} items"
    if group_id is None and (rows != total or not rows):
        raise CannotReconcile(f"{counts}: name the group of the rows with --group")
    named = group_id if group_id is not None else str(GroupId.make(batch["salt"], batch_id, 0, total))
    group = _group(named)
    if group is None or not group.is_of(batch["salt"], batch_id):
        raise CannotReconcile(f"{named} is not a group of batch {batch_id}")
    if group.upto != rows:
        raise CannotReconcile(f"{counts}, the group {group.upto}: this is the manifest of another group")
    return Part(batch_id, named, group.start, group.upto, total, batch["page_bits"])


def _group(text: str) -> GroupId | None:
    try:
        return GroupId.decode(text)
    except ValueError:
        return None


def _wanted(spark: SparkSession, pages: DataFrame, part: Part, failed: bool) -> DataFrame:
    """Return WANTED of the group's leaves, cached."""
    leaves = spark.range(part.leaves.start, part.leaves.stop).withColumnRenamed("id", "page")
    return wanted(leaves, pages, part, failed).cache()


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


def _facts(batch: Facts) -> Facts:
    """Return the facts of the batch that are reported; never its salt."""
    names = {"batchId": "batch_id", "state": "state", "items": "total", "failed": "failed"}
    return {name: batch[column] for name, column in names.items()}
