"""Computes when each item was acked, and acks per second. Frames in, frames out."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.table_changes.acked import COUNTED, FAILURE, HEALED, SUCCESS


def items(changes: DataFrame) -> DataFrame:
    """Return (batch_id, page, bit, acked_at, failed, healed): PAGE_CHANGES folded by item.

    A bit is set once, so neither the order nor repeats of changes matter. *acked_at* is null if only the
    healing is in the archive. A change is shuffled with all its items, to the task of its page.
    """
    by_page = changes.where(F.col("bits").isNotNull()).repartition("batch_id", "page")
    bit = F.explode(F.col("bits").cast("array<int>")).alias("bit")
    each = by_page.select("batch_id", "page", bit, "what", "at")
    what = F.col("what")
    acked_at = F.min(F.when(what.isin(SUCCESS, FAILURE), F.col("at")))
    failed, healed = F.max(what == FAILURE), F.max(what == HEALED)
    folded = each.groupBy("batch_id", "page", "bit")
    facts = folded.agg(acked_at.alias("acked_at"), failed.alias("failed"), healed.alias("healed"))
    still_failed = (F.col("failed") & ~F.col("healed")).alias("failed")
    return facts.select("batch_id", "page", "bit", "acked_at", still_failed, "healed")


def counted(changes: DataFrame) -> DataFrame:
    """Return (batch_id, acked_at, items): acks of estimated batches, each change once."""
    acks = changes.where(F.col("what") == COUNTED).dropDuplicates(["event_id"])
    return acks.select("batch_id", F.col("at").alias("acked_at"), F.col("count").alias("items"))


def throughput(of_items: DataFrame, of_counters: DataFrame) -> DataFrame:
    """Return (batch_id, second, acked, failed): the seconds with any ack."""
    timed = of_items.where(F.col("acked_at").isNotNull())
    one = timed.select("batch_id", "acked_at", F.lit(1).cast("long").alias("items"), "failed")
    many = of_counters.select("batch_id", "acked_at", "items", F.lit(False).alias("failed"))
    second = F.date_trunc("second", "acked_at").alias("second")
    failed = F.sum(F.when(F.col("failed"), F.col("items")).otherwise(0))
    measures = (F.sum("items").alias("acked"), failed.alias("failed"))
    return one.unionByName(many).groupBy("batch_id", second).agg(*measures)


def filled(changes: DataFrame) -> DataFrame:
    """Return (batch_id, pages, acked): the leaf pages that changed, and their acks by their count."""
    pages = changes.groupBy("batch_id", "page").agg(F.max("n").alias("n"))
    return pages.groupBy("batch_id").agg(F.count("*").alias("pages"), F.sum("n").alias("acked"))


def positioned(of_items: DataFrame, batches: DataFrame) -> DataFrame:
    """Return (batch_id, position, acked_at, failed, healed): *position* is null for an unknown batch."""
    page_bits = batches.select("batch_id", "page_bits")
    position = (F.col("page") * F.col("page_bits") + F.col("bit")).alias("position")
    known = of_items.join(F.broadcast(page_bits), on="batch_id", how="left")
    return known.select("batch_id", position, "acked_at", "failed", "healed")


def seconds_between(first: Column, last: Column) -> Column:
    """Return the seconds from *first* to *last*, with their fraction."""
    return F.unix_micros(last) / F.lit(1e6) - F.unix_micros(first) / F.lit(1e6)
