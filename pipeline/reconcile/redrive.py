"""Sends the rows that reconcile saved again by Spark, under their first ids, without items acked since."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import DataFrame, SparkSession

from fanin.cost import estimate as cost
from fanin.publishing.packing import pack_of
from pipeline.fan_out import messages, send
from pipeline.fan_out.send import send_all
from pipeline.reconcile.resending import Fresh, RedriveRequest, linked, live_batch, reported
from pipeline.reconcile.run import load
from pipeline.shared_by_jobs.progress import Report
from pipeline.table_frames.tables import Tables


def redrive(spark: SparkSession, tables: Tables, request: RedriveRequest, report: Report) -> dict[str, int]:
    """Redrive *request*; return how many were sent, and how many had been acked since. Raises BatchIsOver."""
    label, rows = load(spark, request.saved)
    batch = live_batch(tables, label, report)
    request = linked(request, batch)
    sent: Counter[str] = Counter()
    for failed in request.passes:
        only = Fresh(tables, batch.key, label.page_bits, failed) if request.fresh else send.every_row
        sent.update(_send(rows.where(rows.failed == failed), request, only, report))
    return reported(sent, report)


def preview(spark: SparkSession, request: RedriveRequest) -> cost.Estimate:
    """Return the estimated cost of *request*. Sends nothing, and reads no table."""
    _, rows = load(spark, request.saved)
    chosen = rows if request.failed else rows.where("NOT failed")
    size = chosen.selectExpr("count(*) AS items", "coalesce(sum(octet_length(record)), 0) AS bytes")
    (total,) = size.collect()
    return cost.estimate(total.items, total.bytes, request.chunk or 1)


def _send(rows: DataFrame, request: RedriveRequest, only: send.Only, report: Report) -> Counter[str]:
    total = rows.count()
    if not total:
        return Counter()
    paced = send.paced(rows.sparkSession, total, request.rate)
    frame = messages.as_messages(messages.with_copies(rows), paced.tasks, request.chunk or 1)
    return send_all(frame, total, request.queue, paced.rate, report, only, pack_of(request.chunk))
