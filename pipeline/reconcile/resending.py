"""What is sent again of the rows that reconcile saved, by either engine: without items acked since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from fanin.client.tracing import carried_of
from fanin.tracker import Batch, BatchKey
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from pipeline.fan_out import send
from pipeline.fan_out.send import BatchIsOver, Row
from pipeline.reconcile.rules import Label
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

    @property
    def passes(self) -> tuple[bool, ...]:
        """Return whether each pass sends the failed items.

        They are first: after the last outstanding item is acked the batch is over and heals nothing.
        """
        return (True, False) if self.failed else (False,)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Keeps the rows of a task that are still outstanding (or *failed*), and counts the others as acked."""

    tables: Tables
    batch: BatchKey
    page_bits: int
    failed: bool

    def __call__(self, rows: Iterator[Row], counts: Counter[str]) -> Iterator[Row]:
        store = self.tables.store
        while some := list(islice(rows, ROWS_A_LOOK)):
            pages = store.pages({self._page(row) for row in some})
            wanted = [row for row in some if self._is_wanted(row, pages.get(self._page(row), Page()))]
            counts["acked"] += len(some) - len(wanted)
            yield from wanted

    def _page(self, row: Row) -> PageKey:
        return PageKey(self.batch, 0, row.position // self.page_bits)

    def _is_wanted(self, row: Row, page: Page) -> bool:
        bit = 1 << row.position % self.page_bits
        return bool(page.failed & bit if self.failed else page.unset(bit))


def live_batch(tables: Tables, label: Label, report: Report) -> Batch:
    """Return the batch of the saved rows, and report it. Raises BatchIsOver if it has ended or is deleted."""
    batch = tables.store.get(BatchKey(label.tenant, label.batch_id))
    if batch is None or batch.expires_at <= datetime.now(UTC):
        raise BatchIsOver(f"batch {label.batch_id} no longer exists; nothing was sent")
    if not batch.is_alive:
        since = f" since {batch.ended_at:%Y-%m-%d %H:%M} UTC" if batch.ended_at else ""
        raise BatchIsOver(f"batch {label.batch_id} is {batch.state}{since}; nothing was sent")
    report("batch", {"batchId": label.batch_id, "state": str(batch.state), "takenAt": label.taken_at})
    return batch


def linked(request: RedriveRequest, batch: Batch) -> RedriveRequest:
    """Return *request* whose messages carry the trace context of *batch*."""
    return replace(request, queue=replace(request.queue, carried=carried_of(batch)))


def reported(sent: Counter[str], report: Report) -> dict[str, int]:
    """Return the counts of all passes, and report them."""
    counts = {name: sent[name] for name in ("sent", "retried", "acked")}
    report("redriven", counts)
    return counts
