"""Computes the lifecycle of each batch from the changes of its rows. Frames in, frames out."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.history_tables.change_frames.schemas import BATCH_IMAGES
from pipeline.history_tables.items import seconds_between

LOST = ("EXPIRED", "TIMED_OUT", "CANCELLED")
"""States of batches that ended with items outstanding."""

_FACTS = [name for name in BATCH_IMAGES.names if name not in ("tenant", "batch_id", "place", "at")]

LIFECYCLE = (
    "tenant",
    "batch_id",
    "user_key",
    "parent_batch_id",
    "mode",
    "state",
    "total",
    "acked",
    "seen",
    "failed",
    "healed",
    "outstanding",
    "max_failures",
    "opened_at",
    "closed_at",
    "first_ack_at",
    "last_ack_at",
    "ended_at",
    "event_at",
    "end_reason",
    "notices",
    "lasted",
    "acking",
    "decided_after",
    "reported_after",
    "reported_after_last_ack",
    "idle",
    "is_orphan",
)
"""The columns of :func:`lifecycle`."""


def batches(rows: DataFrame) -> DataFrame:
    """Return (tenant, batch_id, state, total, ...): BATCH_ROWS folded to the last state of each batch."""
    images = rows.where(F.col("what") == "batch").select("batch.*")
    last = F.max_by(F.struct(*_FACTS), F.struct("place", "at")).alias("last")
    parent = F.split_part("parent_item_id", F.lit(":"), F.lit(1)).alias("parent_batch_id")
    return (
        images.groupBy("tenant", "batch_id")
        .agg(last)
        .select("tenant", "batch_id", "last.*")
        .select("*", parent)
    )


def groups(rows: DataFrame) -> DataFrame:
    """Return (batch_id, group_id, start, upto): the groups that were added to each batch."""
    return rows.where(F.col("what") == "group").select("batch_id", "group.*").distinct()


def events(rows: DataFrame) -> DataFrame:
    """Return (batch_id, event_at, notices): when the bus confirmed the event, and how often it was resent."""
    event_at = F.min(F.when(F.col("what") == "event", F.col("at"))).alias("event_at")
    notices = F.count_distinct(F.when(F.col("what") == "notice", F.col("at"))).alias("notices")
    return rows.where(F.col("what").isin("event", "notice")).groupBy("batch_id").agg(event_at, notices)


def reasons(rows: DataFrame) -> DataFrame:
    """Return (batch_id, reason, items): why items failed, from the bounded sample that the batch keeps."""
    samples = rows.where(F.col("what") == "sample").select("batch_id", "sample.*")
    sampled = samples.dropDuplicates(["batch_id", "item_id"]).groupBy("batch_id", "reason")
    return sampled.agg(F.count("*").alias("items"))


def acking(throughput: DataFrame, of_items: DataFrame) -> DataFrame:
    """Return (batch_id, first_ack_at, last_ack_at, seen, healed): each batch's acks in the archive."""
    ends = (F.min("second").alias("first_ack_at"), F.max("second").alias("last_ack_at"))
    seen = throughput.groupBy("batch_id").agg(*ends, F.sum("acked").alias("seen"))
    healed = of_items.where("healed").groupBy("batch_id").agg(F.count("*").alias("healed"))
    return seen.join(healed, on="batch_id", how="left")


def lifecycle(
    batch: DataFrame, filled: DataFrame, acks: DataFrame, event: DataFrame, until: Column
) -> DataFrame:
    """Return LIFECYCLE: one row per batch, in seconds; *until* is the time of the archive's last change.

    A batch whose own row is not in the archive has the state UNKNOWN.
    """
    joined = batch.join(filled, on="batch_id", how="full").join(acks, on="batch_id", how="left")
    named = joined.join(event, on="batch_id", how="left").withColumnsRenamed({"created_at": "opened_at"})
    whole = named.withColumns(
        {name: F.coalesce(name, F.lit(0).cast("long")) for name in ("acked", "seen", "healed", "notices")}
        | {"state": F.coalesce("state", F.lit("UNKNOWN"))}
    )
    return whole.withColumns(_derived(until)).select(*LIFECYCLE)


def _derived(until: Column) -> dict[str, Column]:
    """Return the columns derived from the others."""
    alive = F.col("state").isin("OPEN", "CLOSED")
    active_at = F.greatest("last_ack_at", "opened_at", "closed_at")
    outstanding = F.greatest(F.lit(0), F.col("total") - _acked())
    return {
        "acked": _acked(),
        "outstanding": outstanding,
        "lasted": seconds_between(F.col("opened_at"), F.col("ended_at")),
        "acking": seconds_between(F.col("first_ack_at"), F.col("last_ack_at")),
        "decided_after": _at_least_none("last_ack_at", "ended_at"),
        "reported_after": _at_least_none("ended_at", "event_at"),
        "reported_after_last_ack": _at_least_none("last_ack_at", "event_at"),
        "idle": F.when(alive, seconds_between(active_at, until)),
        "is_orphan": F.col("state").isin(*LOST) & (outstanding > 0),
    }


def _acked() -> Column:
    """Return the acks that the pages counted; all items of a batch that is complete, and not by enough."""
    is_done = (F.col("state") == "COMPLETE") & F.col("reached").isNull()
    return F.when(is_done, F.greatest("acked", "total")).otherwise(F.col("acked"))


def _at_least_none(first: str, last: str) -> Column:
    """Return the seconds between times of different clocks, one in whole seconds: never negative."""
    return F.greatest(F.lit(0.0), seconds_between(F.col(first), F.col(last)))
