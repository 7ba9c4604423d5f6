"""Computes latencies of items, their percentiles, and the last items. Frames in, frames out.

The *basis* of a latency is the time that it is counted from: ``sent``, when the item's message was sent, if
an ack log has it; else ``closed``, when the batch was closed, or ``opened`` if acks came before that.
Different bases are never mixed.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipeline.history_tables.items import seconds_between

PERCENTS = (50, 90, 95, 99)
TAIL = 0.99
"""Items acked after this share of their batch are its stragglers."""
ACCURACY = 10_000
BINS = 60
STRAGGLERS = 1000
"""The most stragglers per batch, the last ones."""


def since_start(positioned: DataFrame, lifecycle: DataFrame) -> DataFrame:
    """Return (batch_id, position, acked_at, latency, basis): from the batch's close, or from its opening."""
    closed_first = F.date_trunc("second", "closed_at") <= F.col("first_ack_at")
    start = F.when(closed_first, F.col("closed_at")).otherwise(F.col("opened_at"))
    basis = F.when(closed_first, F.lit("closed")).otherwise(F.lit("opened"))
    starts = lifecycle.select("batch_id", start.alias("start"), basis.alias("basis")).where(
        "start IS NOT NULL"
    )
    joined = positioned.where("acked_at IS NOT NULL").join(F.broadcast(starts), on="batch_id", how="inner")
    latency = F.greatest(F.lit(0.0), seconds_between(F.col("start"), F.col("acked_at")))
    return joined.select("batch_id", "position", "acked_at", latency.alias("latency"), "basis")


def percentiles(latencies: DataFrame) -> DataFrame:
    """Return (batch_id, basis, items, mean, p50, p90, p95, p99, most): in seconds."""
    shares = F.array(*(F.lit(percent / 100) for percent in PERCENTS))
    of = F.percentile_approx("latency", shares, ACCURACY)
    measures = (F.count("*").alias("items"), F.mean("latency").alias("mean"), F.max("latency").alias("most"))
    grouped = latencies.groupBy("batch_id", "basis").agg(*measures, of.alias("of"))
    columns = [F.col("of")[at].alias(f"p{percent}") for at, percent in enumerate(PERCENTS)]
    return grouped.select("batch_id", "basis", "items", "mean", *columns, "most")


def histogram(latencies: DataFrame, shares: DataFrame) -> DataFrame:
    """Return (batch_id, basis, bin, low, high, items): bins of one width up to p99; the last has the rest.

    *shares*: the result of :func:`percentiles`. Empty bins are left out.
    """
    width = F.greatest(F.col("p99") / (BINS - 1), F.lit(1e-3)).alias("width")
    widths = shares.select("batch_id", "basis", width, "most")
    joined = latencies.join(F.broadcast(widths), on=["batch_id", "basis"], how="inner")
    bin_ = F.least(F.lit(BINS - 1), F.floor(F.col("latency") / F.col("width"))).cast("int").alias("bin")
    counts = joined.groupBy("batch_id", "basis", bin_, "width", "most").agg(F.count("*").alias("items"))
    low, high = F.col("bin") * F.col("width"), (F.col("bin") + 1) * F.col("width")
    last = F.when(F.col("bin") == BINS - 1, F.greatest("most", high)).otherwise(high)
    return counts.select("batch_id", "basis", "bin", low.alias("low"), last.alias("high"), "items")


def tails(throughput: DataFrame) -> DataFrame:
    """Return (batch_id, tail_at): the second in which 99 % of the items were acked, or all but one of few."""
    batch = Window.partitionBy("batch_id")
    so_far = F.sum("acked").over(batch.orderBy("second")).alias("so_far")
    rows = throughput.select("batch_id", "second", so_far, F.sum("acked").over(batch).alias("acked"))
    nearly_all = F.least(F.ceil(F.col("acked") * TAIL), F.col("acked") - 1)
    reached = rows.where(F.col("so_far") >= nearly_all)
    return reached.groupBy("batch_id").agg(F.min("second").alias("tail_at"))


def stragglers(positioned: DataFrame, tail: DataFrame, groups: DataFrame) -> DataFrame:
    """Return (batch_id, position, item_id, acked_at, after, failed): the last 1,000 items after *tail_at*.

    *after*: seconds since then. No rows if the last percent was acked in the same second as the rest.
    """
    late = positioned.join(F.broadcast(tail), on="batch_id", how="inner").where("acked_at > tail_at")
    order = Window.partitionBy("batch_id").orderBy(F.desc("acked_at"), "position")
    last = late.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= STRAGGLERS)
    after = seconds_between(F.col("tail_at"), F.col("acked_at")).alias("after")
    named = with_item_ids(last, groups)
    return named.select("batch_id", "position", "item_id", "acked_at", after, "failed")


def with_item_ids(items: DataFrame, groups: DataFrame) -> DataFrame:
    """Return *items* with their ids, null if the archive lacks the group."""
    inside: Column = (F.col("position") >= F.col("start")) & (
        F.col("position") < F.col("start") + F.col("upto")
    )
    of = groups.withColumnRenamed("batch_id", "of_batch")
    joined = items.join(F.broadcast(of), (F.col("of_batch") == F.col("batch_id")) & inside, how="left")
    index = F.col("position") - F.col("start")
    item_id = F.when(F.col("group_id").isNotNull(), F.concat_ws(":", "batch_id", "group_id", index))
    return joined.withColumn("item_id", item_id).drop("of_batch", "group_id", "start", "upto")


def with_records(stragglers: DataFrame, records: DataFrame) -> DataFrame:
    """Return *stragglers* with *record*, the row of the dataset of the item, or null."""
    return stragglers.join(records, on=["batch_id", "position"], how="left")
