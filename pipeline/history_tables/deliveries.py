"""Counts deliveries and latencies from an ack log. Frames in, frames out.

The archive does not show repeated acks, because they write nothing. A log of every ack that consumers sent
does.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructType, TimestampType

TIMES = ("at", "sent_at")


def deliveries(log: DataFrame, groups: DataFrame) -> DataFrame:
    """Return (batch_id, position, at, sent_at, outcome, reason): the rows whose items are archived.

    *log* has the columns of ACKS; its ``at`` and ``sent_at`` (when the ack and when the message was sent)
    are timestamps, numbers of milliseconds since 1970, or absent.
    """
    parts = F.split("item_id", ":")
    times = [_time(log.schema, name).alias(name) for name in TIMES]
    given = [_column(log.schema, name).alias(name) for name in ("outcome", "reason")]
    index = F.try_element_at(parts, F.lit(3)).try_cast("long").alias("index")
    named = log.select(
        parts[0].alias("batch_id"), F.get(parts, F.lit(1)).alias("group_id"), index, *times, *given
    )
    known = named.join(F.broadcast(groups), on=["batch_id", "group_id"], how="inner")
    mine = known.where((F.col("index") >= 0) & (F.col("index") < F.col("upto")))
    position = (F.col("start") + F.col("index")).alias("position")
    return mine.select("batch_id", position, *TIMES, "outcome", "reason")


def repeats(of_log: DataFrame) -> DataFrame:
    """Return (batch_id, acks, items, duplicates): acks sent, and how many were repeats."""
    each = of_log.groupBy("batch_id", "position").agg(F.count("*").alias("acks"))
    sums = (F.sum("acks").alias("acks"), F.count("*").alias("items"))
    counts = each.groupBy("batch_id").agg(*sums)
    return counts.select("batch_id", "acks", "items", (F.col("acks") - F.col("items")).alias("duplicates"))


def since_sent(of_log: DataFrame) -> DataFrame:
    """Return (batch_id, position, acked_at, latency, basis): from first message to first ack."""
    first = of_log.where("at IS NOT NULL AND sent_at IS NOT NULL").groupBy("batch_id", "position")
    ends = first.agg(F.min("at").alias("at"), F.min("sent_at").alias("sent_at"))
    took = (F.col("at") - F.col("sent_at")) / F.lit(1000.0)
    latency = F.greatest(F.lit(0.0), took).alias("latency")
    acked_at = F.timestamp_millis("at").alias("acked_at")
    return ends.select("batch_id", "position", acked_at, latency, F.lit("sent").alias("basis"))


def reported_reasons(of_log: DataFrame) -> DataFrame:
    """Return (batch_id, reason, items): why items failed, by the log."""
    failures = of_log.where((F.col("outcome") == "failure") & F.col("reason").isNotNull())
    return failures.groupBy("batch_id", "reason").agg(F.count_distinct("position").alias("items"))


def _time(schema: StructType, name: str) -> Column:
    """Return a time of the log in milliseconds since 1970."""
    if name not in schema.names:
        return F.lit(None).cast("long")
    kind = schema[name].dataType
    if isinstance(kind, TimestampType):
        return F.unix_millis(name)
    return F.col(name).cast("long") if isinstance(kind, NumericType) else F.unix_millis(F.to_timestamp(name))


def _column(schema: StructType, name: str) -> Column:
    return F.col(name) if name in schema.names else F.lit(None).cast("string")
