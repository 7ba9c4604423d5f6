"""Sends again what reconcile saved, under the ids that it had; what was acked since is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, Row, SparkSession

from fanin.tracker import Batch, BatchKey
from fanin.tracker.model import PageKey
from fanin.tracker.page import Page
from pipeline import cost, reconciling, sinks, transforms
from pipeline.progress import Report
from pipeline.reconciling import Label
from pipeline.sending import BatchIsOver, send_all, task_count
from pipeline.tables import Tables

ROWS_A_LOOK = 100
"""Rows whose pages are read together, right before they are sent: one request of the store's."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to send again and where to.

    *failed*: the items that failed, too; a success heals them. *fresh*: look at each page before it is sent.
    *rate* is for all executors together, in messages a second.
    """

    saved: str
    queue: sinks.Queue
    failed: bool = False
    fresh: bool = True
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """Lets those rows of a task pass that are still outstanding (or *failed*), and counts the others."""

    tables: Tables
    batch: BatchKey
    page_bits: int
    failed: bool
    done: Accumulator[int]

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        store = self.tables.store
        while some := list(islice(rows, ROWS_A_LOOK)):
            pages = store.pages({self._page(row) for row in some})
            left = [row for row in some if self._is_wanted(row, pages.get(self._page(row), Page()))]
            self.done.add(len(some) - len(left))
            yield from left

    def _page(self, row: Row) -> PageKey:
        return PageKey(self.batch, 0, row.position // self.page_bits)

    def _is_wanted(self, row: Row, page: Page) -> bool:
        bit = 1 << row.position % self.page_bits
        return bool(page.failed & bit if self.failed else page.unset(bit))


def redrive(spark: SparkSession, tables: Tables, order: Order, report: Report) -> dict[str, int]:
    """Carry *order* out; what was sent, and what had been acked since. Raises BatchIsOver."""
    label, rows = reconciling.load(spark, order.saved)
    batch = tables.store.get(BatchKey(label.tenant, label.batch_id))
    _refuse_over(batch, label, datetime.now(UTC))
    report("batch", {"batchId": label.batch_id, "state": str(batch.state), "takenAt": label.taken_at})
    done = spark.sparkContext.accumulator(0)
    sent: list[dict[str, int]] = []
    # The failed items first: once the last outstanding one is acked the batch is over, and heals no more.
    for failed in (True, False) if order.failed else (False,):
        only = Fresh(tables, batch.key, label.page_bits, failed, done) if order.fresh else iter
        sent.append(_send(rows.where(rows.failed == failed), order, only, report))
    counts = {name: sum(each[name] for each in sent) for name in ("sent", "retried")} | {"acked": done.value}
    report("redriven", counts)
    return counts


def preview(spark: SparkSession, order: Order) -> cost.Estimate:
    """What *order* would ask of AWS. Sends nothing, and looks at no table."""
    _, rows = reconciling.load(spark, order.saved)
    wished = rows if order.failed else rows.where("NOT failed")
    size = wished.selectExpr("count(*) AS items", "coalesce(sum(octet_length(to_json(record))), 0) AS bytes")
    (found,) = size.collect()
    return cost.estimate(found.items, found.bytes)


def _send(rows: DataFrame, order: Order, only: sinks.Only, report: Report) -> dict[str, int]:
    total = rows.count()
    if not total:
        return {"sent": 0, "retried": 0}
    slots = rows.sparkSession.sparkContext.defaultParallelism
    messages = transforms.as_messages(transforms.with_copies(rows), task_count(total, slots))
    return send_all(messages, total, order.queue, order.rate, report, only)


def _refuse_over(batch: Batch | None, label: Label, now: datetime) -> None:
    if batch is None or batch.expires_at <= now:
        raise BatchIsOver(f"there is no batch {label.batch_id} any more; nothing was sent")
    if not batch.is_alive:
        since = f" since {batch.ended_at:%Y-%m-%d %H:%M} UTC" if batch.ended_at else ""
        raise BatchIsOver(f"batch {label.batch_id} is {batch.state}{since}; nothing was sent")
