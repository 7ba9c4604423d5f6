"""Publishes a dataset as the items of one batch; the caller brings the session, the tracker and the order.

Dataset -> manifest, written once -> open a batch -> one add of N -> close -> publish. The batch is closed
before its first message, so only consumers can complete it. Carried out again over the same manifest, an
order finds its batch and its group by their idempotency keys, and every item goes under the id it had.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from fanin.tracker import State
from pipeline import cost, manifest, sinks, sources, transforms
from pipeline.overwriting import refuse_foreign
from pipeline.progress import Report, watching
from pipeline.sending import BatchIsOver, send_all, task_count

_ANEW = "name another --manifest for a batch of its own"


class RecordTooLong(ValueError):
    """A row's message would be longer than SQS takes."""


class Reserved(Protocol):
    """The answer to add."""

    @property
    def group_id(self) -> str: ...


class Closed(Protocol):
    """The answer to close."""

    @property
    def batch_id(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def is_complete(self) -> bool: ...


class OpenedBatch(Protocol):
    """What the job needs of a batch."""

    def add(self, count: int, *, key: str) -> Reserved: ...
    def close(self) -> Closed: ...


class BatchApi(Protocol):
    """What the job needs of the tracker."""

    def open(self, *, user_key: str, key: str) -> OpenedBatch: ...


@dataclass(frozen=True, slots=True)
class Order:
    """What to fan out and where to: to *queue*, or as Parquet to the folder *files*.

    *rate* is for all executors together, in messages a second.
    """

    dataset: str
    manifest: str
    queue: sinks.Queue | None
    user_key: str
    files: str | None = None
    limit: int | None = None
    rate: float | None = None
    chaos_duplicates: float = 0.0
    seed: int = 0

    @property
    def source(self) -> str:
        """Which rows these are: a manifest serves one such source."""
        return self.dataset if self.limit is None else f"{self.dataset} (first {self.limit})"


@dataclass(frozen=True, slots=True)
class FannedOut:
    """A batch whose every item was sent at least once, unless it was complete before."""

    batch_id: str
    sent: int = 0
    copies: int = 0
    retried: int = 0


def fan_out(spark: SparkSession, api: BatchApi, order: Order, report: Report, run: str) -> FannedOut:
    """Carry *order* out; *run* names it where no committed manifest does."""
    if order.files:
        refuse_foreign(spark, order.files, transforms.MESSAGE)
    committed = manifest.ensure(
        spark, order.manifest, lambda: _dataset(spark, order), run=run, source=order.source
    )
    parts = manifest.measure(committed.rows)
    _check_lengths(parts)
    total = sum(part.rows for part in parts)
    report("manifest", {"path": order.manifest, "run": committed.run, "items": total})
    batch = api.open(user_key=order.user_key, key=f"fan-out-{committed.run}-open")
    group_id = batch.add(total, key=f"fan-out-{committed.run}-add").group_id if total else None
    closed = batch.close()
    report("opened", _ids(closed, group_id, total))
    # Of no rows the files are written all the same: whoever reads them is to find them.
    if closed.is_complete and (total or not order.files):
        return FannedOut(closed.batch_id)
    if total and closed.state is not State.CLOSED:
        raise BatchIsOver(f"batch {closed.batch_id} is {closed.state}; nothing was sent: {_ANEW}")
    items = transforms.with_item_ids(manifest.positions(committed, parts), closed.batch_id, group_id or "")
    return _publish(items, closed.batch_id, total, order, report)


def _ids(closed: Closed, group_id: str | None, total: int) -> dict[str, Any]:
    return {
        "batchId": closed.batch_id,
        "groupId": group_id,
        "items": total,
        "isComplete": closed.is_complete,
    }


def preview(spark: SparkSession, order: Order) -> cost.Estimate:
    """What *order* would ask of AWS. Reads the dataset; writes and sends nothing."""
    parts = manifest.measure(transforms.number_rows(_dataset(spark, order)))
    _check_lengths(parts)
    share = 1 + order.chaos_duplicates / 100
    return cost.estimate(ceil(share * sum(p.rows for p in parts)), ceil(share * sum(p.size for p in parts)))


def _publish(items: DataFrame, batch_id: str, total: int, order: Order, report: Report) -> FannedOut:
    slots = items.sparkSession.sparkContext.defaultParallelism
    copies = transforms.with_copies(items, order.chaos_duplicates, order.seed)
    messages = transforms.as_messages(copies, task_count(total, slots))
    if order.queue is None:
        return _save(messages, batch_id, order, report)
    return FannedOut(batch_id, **send_all(messages, total, order.queue, order.rate, report))


def _save(messages: DataFrame, batch_id: str, order: Order, report: Report) -> FannedOut:
    """Write the messages to files; what a run before this one left there is written over, the same."""
    started, context = time.monotonic(), messages.sparkSession.sparkContext
    with watching(context, report):
        messages.write.mode("overwrite").parquet(order.files)
        saved = messages.sparkSession.read.parquet(order.files).groupBy("copy").count().collect()
    rows = {row.copy: row["count"] for row in saved}
    done = FannedOut(batch_id, sent=rows.get(1, 0), copies=rows.get(2, 0))
    seconds = round(time.monotonic() - started, 3)
    report("saved", {"path": order.files, "sent": done.sent, "copies": done.copies, "seconds": seconds})
    return done


def _dataset(spark: SparkSession, order: Order) -> DataFrame:
    return sources.read_dataset(spark, order.dataset, order.limit)


def _check_lengths(parts: Sequence[manifest.Part]) -> None:
    widest = max((part.widest for part in parts), default=0)
    if widest + cost.ENVELOPE_BYTES > sinks.BATCH_BYTES:
        raise RecordTooLong(f"a row is {widest:,} bytes of JSON; SQS takes {sinks.BATCH_BYTES:,} a message")
