"""Finds what is outstanding of a batch, as rows of its source, and saves that with what it is about."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanin.tracker import GroupId, Mode, checked_batch_id
from pipeline import manifest, schemas
from pipeline.audit import Account
from pipeline.outstanding import Part, unfinished, wanted
from pipeline.overwriting import refuse_foreign
from pipeline.pages import Told
from pipeline.progress import Report, watching
from pipeline.rows import Facts

BROADCAST_PAGES = 1_000_000
"""Leaves that are sent to every executor, 128 bytes each; more are joined by a shuffle."""
NAMED = 5
"""Malformed rows that an error names."""
_LABEL = "fanin.outstanding"


class CannotReconcile(ValueError):
    """What the tables, the manifest and the wish say does not fit together; the message says what."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to look for: the rows of the manifest at *source*, which are *group_id* of the batch.

    *saved*: where what is found goes. *group_id*: None where the batch has but one group. *failed*: the items
    that failed, too.
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
    """What saved rows are about; *taken_at* (ISO 8601) is when the tables said so."""

    tenant: str
    batch_id: str
    group_id: str
    page_bits: int
    taken_at: str
    source: str


def reconcile(spark: SparkSession, told: Told, wish: Wish, report: Report) -> dict[str, int]:
    """Save what is outstanding at ``wish.saved``; how many items that is, and how many failed."""
    manifest.refuse_committed(spark, wish.saved)
    refuse_foreign(spark, wish.saved, [*schemas.OUTSTANDING.names, "record"])
    kept = told.rows.cache()
    try:
        return _reconcile(spark, Told(told.taken_at, kept), wish, report)
    finally:
        kept.unpersist()


def _reconcile(spark: SparkSession, told: Told, wish: Wish, report: Report) -> dict[str, int]:
    started, taken_at = time.monotonic(), told.taken_at.isoformat()
    batch = _batch(told, wish.batch_id)
    report("batch", _facts(batch) | {"takenAt": taken_at})
    source = _source(spark, wish.source)
    parts = manifest.count(source.rows)
    rows = sum(each.rows for each in parts)
    part = part_of(batch, rows, wish.group_id)
    label = Label(batch["tenant"], part.batch_id, part.group_id, part.page_bits, taken_at, wish.source)
    with watching(spark.sparkContext, report):
        words = _words(spark, told.pages, part, wish.failed)
        save(unfinished(manifest.positions(source, parts), words, part), label, wish.saved)
    counts = count(load(spark, wish.saved)[1])
    seconds = round(time.monotonic() - started, 3)
    report("saved", {**counts, "rows": rows, "path": wish.saved, "seconds": seconds})
    return counts


def save(rows: DataFrame, label: Label, path: str) -> None:
    """Commit *rows* (OUTSTANDING with *record*) to *path*, over what a dead write may have left."""
    about = {_LABEL: json.dumps(asdict(label))}
    rows.withMetadata("position", about).write.mode("overwrite").parquet(path)


def load(spark: SparkSession, path: str) -> tuple[Label, DataFrame]:
    """What `save` committed to *path*. Raises CannotReconcile where nothing is."""
    if not manifest.is_committed(spark, path):
        raise CannotReconcile(f"nothing that reconcile saved is at {path}")
    rows = spark.read.parquet(path)
    about = rows.schema["position"].metadata if "position" in rows.columns else {}
    if _LABEL not in about:
        raise CannotReconcile(f"{path} holds other rows than those that reconcile saves")
    return Label(**json.loads(about[_LABEL])), rows


def count(rows: DataFrame) -> dict[str, int]:
    """How many of the saved items are outstanding, and how many failed."""
    counted = rows.groupBy("failed").agg(F.count("*").alias("items")).collect()
    found = {row.failed: row.items for row in counted}
    return {"outstanding": found.get(False, 0), "failed": found.get(True, 0)}


def _batch(told: Told, batch_id: str) -> Facts:
    """The one row of the batch (BATCHES), if all that was read of it can be relied on."""
    _refuse_malformed(told)
    found = told.batches.where(F.col("batch_id") == batch_id).toArrow().to_pylist()
    if len(found) != 1:
        raise CannotReconcile(f"batch {batch_id} has {len(found)} rows in what was read; it is to have one")
    (batch,) = found
    if batch["mode"] != Mode.EXACT:
        raise CannotReconcile(f"batch {batch_id} only counts its acks; nobody knows which are outstanding")
    if Account.of(batch).may_be_gone(told.taken_at):
        raise CannotReconcile(f"batch {batch_id} is so old that its pages may have been deleted")
    return batch


def _refuse_malformed(told: Told) -> None:
    """A page that cannot be read would be taken for one on which nothing was acked."""
    malformed = told.malformed.limit(NAMED).collect()
    if malformed:
        named = "".join(f"\n  {row.place}: {row.problem}" for row in malformed)
        raise CannotReconcile(f"rows of the tables cannot be relied on (the first {NAMED} at most):{named}")


def _source(spark: SparkSession, path: str) -> manifest.Manifest:
    if not manifest.is_committed(spark, path):
        raise CannotReconcile(f"no manifest is committed at {path}")
    return manifest.load(spark, path)[0]


def part_of(batch: Facts, rows: int, group_id: str | None) -> Part:
    """The group whose items the *rows* of the manifest are."""
    batch_id, total = batch["batch_id"], batch["total"]
    counts = f"the manifest has {rows} rows, the batch {total} items"
    if group_id is None and (rows != total or not rows):
        raise CannotReconcile(f"{counts}: name with --group which of them the rows are")
    named = group_id if group_id is not None else str(GroupId.make(batch["salt"], batch_id, 0, total))
    group = _group(named)
    if group is None or not group.is_of(batch["salt"], batch_id):
        raise CannotReconcile(f"{named} is no group of batch {batch_id}")
    if group.upto != rows:
        raise CannotReconcile(f"{counts}, the group {group.upto}: this is another group's manifest")
    return Part(batch_id, named, group.start, group.upto, total, batch["page_bits"])


def _group(text: str) -> GroupId | None:
    try:
        return GroupId.decode(text)
    except ValueError:
        return None


def _words(spark: SparkSession, pages: DataFrame, part: Part, failed: bool) -> DataFrame:
    """WANTED of the group's leaves, on its way to every executor where it is small enough."""
    leaves = spark.range(part.leaves.start, part.leaves.stop).withColumnRenamed("id", "page")
    words = wanted(leaves, pages, part, failed).cache()
    return F.broadcast(words) if words.count() <= BROADCAST_PAGES else words


def _facts(batch: Facts) -> Facts:
    """What is told of the batch; its salt is not for anybody's eyes."""
    names = {"batchId": "batch_id", "state": "state", "items": "total", "failed": "failed"}
    return {name: batch[column] for name, column in names.items()}
