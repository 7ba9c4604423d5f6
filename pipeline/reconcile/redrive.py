"""Sends the rows that reconcile saved again, under their first ids, without items acked since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, Row, SparkSession

from fanin.cost import estimate as cost
from fanin.publishing.packing import pack_of
from fanin.tracker import Batch, BatchKey
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from pipeline.fan_out import messages, send
from pipeline.fan_out.send import BatchIsOver, send_all, task_count
from pipeline.reconcile.rules import Label
from pipeline.reconcile.run import load
from pipeline.shared_by_jobs.progress import Report
from pipeline.table_frames.tables import Tables

ROWS_A_LOOK = 100
"""Rows whose pages are read together, in one request, right before they are sent."""


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    """What to send again, and where.

    *failed*: failed items too; a success heals them. *fresh*: read each page before its items are sent.
    *rate*: messages a second, all executors together. *chunk*: neighbouring rows of a message; None: one, by
    itself.
    """

    saved: str
    queue: send.Queue
    failed: bool = False
    fresh: bool = True
    rate: float | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """Keeps the rows of a task that are still outstanding (or *failed*), and counts the others."""

    tables: Tables
    batch: BatchKey
    page_bits: int
    failed: bool
    acked: Accumulator[int]

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        store = self.tables.store
        while some := list(islice(rows, ROWS_A_LOOK)):
            pages = store.pages({self._page(row) for row in some})
            wanted = [row for row in some if self._is_wanted(row, pages.get(self._page(row), Page()))]
            self.acked.add(len(some) - len(wanted))
            yield from wanted

    def _page(self, row: Row) -> PageKey:
        return PageKey(self.batch, 0, row.position // self.page_bits)

    def _is_wanted(self, row: Row, page: Page) -> bool:
        bit = 1 << row.position % self.page_bits
        return bool(page.failed & bit if self.failed else page.unset(bit))


def redrive(spark: SparkSession, tables: Tables, request: RedriveRequest, report: Report) -> dict[str, int]:
    """Redrive *request*; return how many were sent, and how many had been acked since. Raises BatchIsOver."""
    label, rows = load(spark, request.saved)
    batch = _live(tables, label, datetime.now(UTC))
    report("batch", {"batchId": label.batch_id, "state": str(batch.state), "takenAt": label.taken_at})
    acked = spark.sparkContext.accumulator(0)
    sent: list[dict[str, int]] = []
    # Failed items first: after the last outstanding item is acked the batch is over and heals nothing.
    for failed in (True, False) if request.failed else (False,):
        only = Fresh(tables, batch.key, label.page_bits, failed, acked) if request.fresh else iter
        sent.append(_send(rows.where(rows.failed == failed), request, only, report))
    counts = {name: sum(each[name] for each in sent) for name in ("sent", "retried")} | {"acked": acked.value}
    report("redriven", counts)
    return counts


def preview(spark: SparkSession, request: RedriveRequest) -> cost.Estimate:
    """Return the estimated cost of *request*. Sends nothing, and reads no table."""
    _, rows = load(spark, request.saved)
    chosen = rows if request.failed else rows.where("NOT failed")
    size = chosen.selectExpr("count(*) AS items", "coalesce(sum(octet_length(record)), 0) AS bytes")
    (total,) = size.collect()
    return cost.estimate(total.items, total.bytes, request.chunk or 1)


def _send(rows: DataFrame, request: RedriveRequest, only: send.Only, report: Report) -> dict[str, int]:
    total = rows.count()
    if not total:
        return {"sent": 0, "retried": 0}
    slots = rows.sparkSession.sparkContext.defaultParallelism
    frame = messages.as_messages(messages.with_copies(rows), task_count(total, slots), request.chunk or 1)
    return send_all(frame, total, request.queue, request.rate, report, only, pack_of(request.chunk))


def _live(tables: Tables, label: Label, now: datetime) -> Batch:
    """Return the batch of the saved rows. Raises BatchIsOver if it has ended or no longer exists."""
    batch = tables.store.get(BatchKey(label.tenant, label.batch_id))
    if batch is None or batch.expires_at <= now:
        raise BatchIsOver(f"batch {label.batch_id} no longer exists; nothing was sent")
    if not batch.is_alive:
        since = f" since {batch.ended_at:%Y-%m-%d %H:%M} UTC" if batch.ended_at else ""
        raise BatchIsOver(f"batch {label.batch_id} is {batch.state}{since}; nothing was sent")
    return batch
