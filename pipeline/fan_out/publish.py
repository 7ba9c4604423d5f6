"""Publishes a dataset as the items of one batch, by an engine: Spark, or processes of this machine.

Dataset -> manifest, written once -> open a batch -> one add of N -> close -> publish. The batch is closed
before its first message, so only consumers can complete it. A request that is repeated with the same
manifest finds its batch and its group by their idempotency keys, and sends every item under its first id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol

from fanin.client.tracing import sending, trace_context
from fanin.cost import estimate as cost
from fanin.errors import BatchEnded
from fanin.publishing.caps import UNCAPPED, Caps
from fanin.tracker import State
from pipeline.fan_out import parts as numbering
from pipeline.fan_out.parts import Label, Part
from pipeline.fan_out.send import BatchIsOver, Queue
from pipeline.shared_by_jobs.progress import Report

_ANEW = "name another --manifest for a batch of its own"


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
    queue: Queue | None
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
    def is_written_once(self) -> bool:
        """Return whether its messages may be its manifest: no row is measured or copied before."""
        return bool(self.files) and not self.chaos_duplicates and self.caps.max_cost is None

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


@dataclass(frozen=True, slots=True)
class Numbered:
    """A committed manifest: its label, and its parts in order."""

    label: Label
    parts: Sequence[Part]

    @property
    def total(self) -> int:
        """Return the number of its rows."""
        return sum(part.rows for part in self.parts)


class Engine(Protocol):
    """What reads the dataset, writes the manifest, and publishes its rows."""

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""

    def measure(self, request: FanOutRequest) -> Sequence[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""

    def refuse_foreign(self, path: str) -> None:
        """Raise NotOurs unless *path* is empty or holds messages."""

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest, report: Report) -> Saved:
        """Write the messages to ``request.files``, replacing those of an earlier batch."""

    def send(
        self, numbered: Numbered, items: Items, request: FanOutRequest, queue: Queue, report: Report
    ) -> Mapping[str, int]:
        """Send the messages to *queue*; return the COUNTS of `send`."""


@dataclass(frozen=True, slots=True)
class Items:
    """The batch and the group whose items are the rows of a manifest; without items no group."""

    batch_id: str
    group_id: str

    @property
    def head(self) -> str:
        """Return the beginning of each item id."""
        return f"{self.batch_id}:{self.group_id}:"


@dataclass(frozen=True, slots=True)
class Saved:
    """How many messages were saved: *sent* items, and *copies* of some."""

    sent: int
    copies: int = 0


def fan_out(engine: Engine, api: BatchApi, request: FanOutRequest, report: Report, run: str) -> FannedOut:
    """Fan out *request*; *run* is the id of a manifest that is not committed yet."""
    if request.files:
        engine.refuse_foreign(request.files)
    numbered = engine.number(request, run)
    total = numbered.total
    numbering.check_lengths(numbered.parts)
    size = sum(part.size for part in numbered.parts)
    request.caps.check(total, size, request.chunk, request.copies)
    report("manifest", {"path": request.manifest, "run": numbered.label.run, "items": total})
    closed = _closed(api, request, f"fan-out-{numbered.label.run}", total)
    report("opened", _ids(closed, total))
    # An empty dataset still writes its files, so that the job that reads them finds them.
    if closed.is_complete and (total or not request.files):
        return FannedOut(closed.batch_id)
    items = Items(closed.batch_id, closed.group_id or "")
    if request.queue is None:
        return _save(engine, numbered, items, request, report)
    with sending(request.queue.url) as traced:
        carried = traced.carried or trace_context(request.options.get("traceparent"))
        queue = replace(request.queue, carried=carried)
        counts = engine.send(numbered, items, request, queue, report)
    return FannedOut(closed.batch_id, counts["sent"], counts["copies"], counts["retried"])


def _save(
    engine: Engine, numbered: Numbered, items: Items, request: FanOutRequest, report: Report
) -> FannedOut:
    started = time.monotonic()
    saved = engine.save(numbered, items, request, report)
    counts = {"sent": saved.sent, "copies": saved.copies}
    report("saved", {"path": request.files, **counts, "seconds": round(time.monotonic() - started, 3)})
    return FannedOut(items.batch_id, **counts)


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


def preview(engine: Engine, request: FanOutRequest) -> cost.Estimate:
    """Return the estimated cost of *request*. Reads the dataset; writes and sends nothing."""
    parts = engine.measure(request)
    numbering.check_lengths(parts)
    rows, size = sum(part.rows for part in parts), sum(part.size for part in parts)
    return cost.estimate(ceil(request.copies * rows), ceil(request.copies * size), request.neighbours)
