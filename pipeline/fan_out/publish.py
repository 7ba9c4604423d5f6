"""Publishes a dataset as the items of one batch; session, tracker and request are arguments.

Dataset -> manifest, written once -> open a batch -> one add of N -> close -> publish. The batch is closed
before its first message, so only consumers can complete it. A request that is repeated with the same
manifest finds its batch and its group by their idempotency keys, and sends every item under its first id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from fanin.cost import estimate as cost
from fanin.errors import BatchEnded
from fanin.publishing.caps import UNCAPPED, Caps
from fanin.publishing.packing import BATCH_BYTES, pack_of
from fanin.tracker import State
from pipeline.fan_out import manifest, messages, send
from pipeline.fan_out.send import BatchIsOver, send_all
from pipeline.shared_by_jobs import datasets
from pipeline.shared_by_jobs.output import refuse_foreign
from pipeline.shared_by_jobs.progress import Report, watching

_ANEW = "name another --manifest for a batch of its own"


class RecordTooLong(ValueError):
    """A row's message would be longer than SQS accepts."""


class Reserved(Protocol):
    """The answer to add, as far as the job reads it."""

    @property
    def group_id(self) -> str: ...


class Closed(Protocol):
    """The answer to close, as far as the job reads it."""

    @property
    def batch_id(self) -> str: ...
    @property
    def is_complete(self) -> bool: ...


class OpenedBatch(Protocol):
    """An open batch, as far as the job uses it."""

    def add(self, count: int, *, key: str) -> Reserved: ...
    def close(self) -> Closed: ...


class BatchApi(Protocol):
    """The tracker's API, as far as the job uses it."""

    def open(self, *args: Any, **options: Any) -> OpenedBatch: ...


@dataclass(frozen=True, slots=True)
class FanOutRequest:
    """What to fan out, and where to send it: to *queue*, or as Parquet to the folder *files*.

    *rate*: messages a second, all executors together. *chunk*: rows of a message; None: one, by itself.
    *caps*: on its rows and their cost. *options*: of the batch, as ``Fanin.open`` takes them.
    """

    dataset: str
    manifest: str
    queue: send.Queue | None
    user_key: str
    files: str | None = None
    limit: int | None = None
    rate: float | None = None
    chaos_duplicates: float = 0.0
    seed: int = 0
    chunk: int | None = None
    caps: Caps = UNCAPPED
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def copies(self) -> float:
        """Return how often each item is sent, on average."""
        return 1 + self.chaos_duplicates / 100

    @property
    def neighbours(self) -> int:
        """Return how many rows are kept together."""
        return self.chunk or 1

    @property
    def source(self) -> str:
        """Return a name for the rows; a manifest belongs to one source."""
        return self.dataset if self.limit is None else f"{self.dataset} (first {self.limit})"


@dataclass(frozen=True, slots=True)
class _Closed:
    """The closed batch of a manifest. *group_id*: of its items; None without items, or if it was complete."""

    batch_id: str
    group_id: str | None
    is_complete: bool


@dataclass(frozen=True, slots=True)
class FannedOut:
    """A batch whose items were each sent at least once, unless it was complete before."""

    batch_id: str
    sent: int = 0
    copies: int = 0
    retried: int = 0


def fan_out(
    spark: SparkSession, api: BatchApi, request: FanOutRequest, report: Report, run: str
) -> FannedOut:
    """Fan out *request*; *run* is the id of a manifest that is not committed yet."""
    if request.files:
        refuse_foreign(spark, request.files, messages.MESSAGE)
    committed = manifest.ensure(
        spark, request.manifest, lambda: _dataset(spark, request), run=run, source=request.source
    )
    parts = manifest.measure(committed.rows)
    _check_lengths(parts)
    total = sum(part.rows for part in parts)
    request.caps.check(total, sum(part.size for part in parts), request.chunk, request.copies)
    report("manifest", {"path": request.manifest, "run": committed.run, "items": total})
    closed = _closed(api, request, f"fan-out-{committed.run}", total)
    report("opened", _ids(closed, total))
    # An empty dataset still writes its files, so that the job that reads them finds them.
    if closed.is_complete and (total or not request.files):
        return FannedOut(closed.batch_id)
    placed = manifest.positions(committed, parts)
    items = messages.with_item_ids(placed, closed.batch_id, closed.group_id or "")
    return _publish(items, closed.batch_id, total, request, report)


def _closed(api: BatchApi, request: FanOutRequest, key: str, total: int) -> _Closed:
    """Open the batch of a manifest, add its items and close it. Raises BatchIsOver if it did not complete."""
    try:
        batch = api.open(user_key=request.user_key, key=f"{key}-open", **request.options)
        group_id = batch.add(total, key=f"{key}-add").group_id if total else None
        closed = batch.close()
    except BatchEnded as ended:
        if ended.state == State.COMPLETE:
            return _Closed(ended.batch_id, None, is_complete=True)
        raise BatchIsOver(f"batch {ended.batch_id} is {ended.state}; nothing was sent: {_ANEW}") from ended
    return _Closed(closed.batch_id, group_id, closed.is_complete)


def _ids(closed: _Closed, total: int) -> dict[str, Any]:
    return {
        "batchId": closed.batch_id,
        "groupId": closed.group_id,
        "items": total,
        "isComplete": closed.is_complete,
    }


def preview(spark: SparkSession, request: FanOutRequest) -> cost.Estimate:
    """Return the estimated cost of *request*. Reads the dataset; writes and sends nothing."""
    parts = manifest.measure(messages.number_rows(_dataset(spark, request)))
    _check_lengths(parts)
    rows, size = sum(part.rows for part in parts), sum(part.size for part in parts)
    return cost.estimate(ceil(request.copies * rows), ceil(request.copies * size), request.neighbours)


def _publish(
    items: DataFrame, batch_id: str, total: int, request: FanOutRequest, report: Report
) -> FannedOut:
    copies = messages.with_copies(items, request.chaos_duplicates, request.seed, request.neighbours)
    if request.queue is None:
        return _save(messages.as_files(copies), batch_id, str(request.files), report)
    paced = send.paced(items.sparkSession, total, request.rate)
    frame = messages.as_messages(copies, paced.tasks, request.neighbours)
    counts = send_all(frame, total, request.queue, paced.rate, report, pack=pack_of(request.chunk))
    return FannedOut(batch_id, counts["sent"], counts["copies"], counts["retried"])


def _save(frame: DataFrame, batch_id: str, path: str, report: Report) -> FannedOut:
    """Write the messages to files, replacing those of an earlier run."""
    started = time.monotonic()
    with watching(frame.sparkSession, report):
        frame.write.mode("overwrite").parquet(path)
        saved = frame.sparkSession.read.parquet(path).groupBy("copy").count().collect()
    rows = {row.copy: row["count"] for row in saved}
    fanned_out = FannedOut(batch_id, sent=rows.get(1, 0), copies=rows.get(2, 0))
    seconds = round(time.monotonic() - started, 3)
    report("saved", {"path": path, "sent": fanned_out.sent, "copies": fanned_out.copies, "seconds": seconds})
    return fanned_out


def _dataset(spark: SparkSession, request: FanOutRequest) -> DataFrame:
    return datasets.read_dataset(spark, request.dataset, request.limit)


def _check_lengths(parts: Sequence[manifest.Part]) -> None:
    widest = max((part.widest for part in parts), default=0)
    if widest + cost.ENVELOPE_BYTES > BATCH_BYTES:
        raise RecordTooLong(f"a row has {widest:,} bytes of JSON; SQS takes {BATCH_BYTES:,} a message")
