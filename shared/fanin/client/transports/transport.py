"""The port between the client and the tracker, and how acks are divided into requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from uuid import NAMESPACE_OID, uuid5

from fanin.errors import InvalidRequest, TooManyBatches, TooManyPages

if TYPE_CHECKING:
    from fanin.client.items import Items
    from fanin.client.model import (
        Cancelled,
        Closed,
        Deleted,
        Failures,
        Pairs,
        Publication,
        QueueDescription,
        Ranges,
        Rows,
        Status,
        Summaries,
    )
    from fanin.client.result_files import ResultFiles
    from fanin.client.task_model import (
        BundleSummary,
        ListedTask,
        NewTask,
        Registered,
        TargetSummary,
        TaskResult,
        TaskStatus,
    )
    from fanin.client.transports.reports import AckReport
    from fanin.tracker import Ack, BatchFilter, BatchMap, OpenBatch, State
    from fanin.tracker.batch_changes.reopening import ReopenBatch

T = TypeVar("T")
ITEMS_A_REQUEST = 1000
RANGED_A_REQUEST = 100_000
"""Items that the ranges of one request may cover."""

Cursor = Any
"""The position of the next page of a list, opaque outside of the transport that returned it."""


class TooManyBytes(InvalidRequest):
    """The acks do not fit into one request body; smaller requests fit."""


class Acks(Protocol):
    """The calls that a consumer needs."""

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        """Ack 1 to 1,000 items and ranges, each under its caller; ``acked`` divides what is too much.

        *key*: None if the user gave none; the callers may be messages, redelivered together with others.
        """

    def verdicts(self, acks: Sequence[Ack]) -> AckReport:
        """Return the verdict that each ack would get now, if it was the only one; nothing is written.

        An item that is done with success has the verdict ``duplicate``.
        """

    def outstanding_of(
        self, batch_id: str, group_id: str, first: int, last: int, failed: bool = False
    ) -> tuple[Items, ...]:
        """Return those of at most 10,000 items of a group that are outstanding, by a consistent read.

        *failed*: also those that have failed, so that all others are done with success. Raises NotFound for
        a batch that does not exist or has expired, and for a group of another batch.
        """

    def state_of(self, batch_id: str) -> State | None:
        """Return the state of a batch, at most some seconds old; None if the tenant has no such batch.

        EXPIRED for a batch that has expired, if its row is still there; over HTTP it is None, too.
        """


class Transport(Acks, Protocol):
    """One method for each call of the API; thread-safe, and raises the errors of ``fanin.errors``.

    *key*: the idempotency key; a call that is repeated with its key has no further effect.
    """

    def open(self, spec: OpenBatch, key: str) -> str:
        """Open a batch and return its id."""

    def get(self, batch_id: str) -> Status: ...

    def poll(self, batch_id: str) -> State:
        """Return the state of a batch, read now, without its progress. Raises NotFound."""

    def progress_token(self, batch_id: str, seconds: int) -> str:
        """Return a token that reads the progress of a batch and expires after *seconds*."""

    def map(self, batch_id: str, cells: int, start: int, stop: int | None) -> BatchMap: ...

    def add(self, batch_id: str, count: int, key: str) -> Items: ...

    def close(self, batch_id: str, key: str) -> Closed: ...

    def cancel(self, batch_id: str, reason: str | None, key: str, children: bool = False) -> Cancelled: ...

    def children(self, batch_id: str, item_id: str | None, done: bool, cursor: Cursor) -> Summaries: ...

    def notify(self, batch_id: str, key: str) -> str:
        """Send the ending event again and return its id."""

    def reopen(self, request: ReopenBatch, key: str) -> Items:
        """Open a new batch of items of an ended one; return its items."""

    def origin(self, batch_id: str, cursor: Cursor) -> Pairs: ...

    def end(self, batch_id: str, reason: str, key: str) -> Cancelled: ...

    def delete(self, batch_id: str) -> None: ...

    def delete_ended(self, before: datetime, cursor: Cursor) -> Deleted:
        """Delete a part of the batches that ended before a time."""

    def outstanding(self, batch_id: str, cursor: Cursor) -> Ranges: ...

    def failures(self, batch_id: str, cursor: Cursor) -> Failures: ...

    def results(self, batch_id: str, cursor: Cursor) -> ResultFiles:
        """Return files of the results of an ended batch, and gather them first, as far as one call goes."""

    def register(self, task: NewTask, key: str) -> Registered:
        """Register a task. Raises InvalidRequest if the transport has no group-batcher."""

    def register_all(self, tasks: Sequence[NewTask], key: str) -> tuple[TaskResult, ...]:
        """Register up to 100 tasks, each by itself."""

    def task(self, task_id: str) -> TaskStatus: ...

    def tasks(self, target: str, state: str, cursor: Cursor) -> Rows[ListedTask]: ...

    def bundles(self, target: str, state: str | None, cursor: Cursor) -> Rows[BundleSummary]: ...

    def targets(self, cursor: Cursor) -> Rows[TargetSummary]: ...

    def batches(self, wanted: BatchFilter, cursor: Cursor) -> Summaries: ...

    def publish_object(self, body: Mapping[str, Any], key: str) -> str:
        """Let the stack publish an object; return the id of its batch. Raises InvalidRequest without it."""

    def publication(self, batch_id: str) -> Publication: ...

    has_api: ClassVar[bool]
    """Whether the calls are requests to the API; without it a process needs tables and credentials."""

    def create_queue(self, name: str, parts: int | None) -> QueueDescription | None:
        """Create a work queue, unless it exists. Raises Conflict if it has more *parts*.

        None: the transport does not use the API, and the process creates queues with its own credentials.
        """

    def administer(
        self,
        method: str,
        path: str,
        given: Mapping[str, Any],
        reader: Callable[[Mapping[str, Any]], T],
        key: str | None = None,
    ) -> T:
        """Send a request about queues; return what *reader* makes of the answer.

        *given*: the query of a GET, else the body. Raises InvalidRequest if the transport is not HTTP.
        """


Send = Callable[["Sequence[Ack]", "str | None"], "AckReport"]
"""Sends acks under a key, as ``Acks.ack`` does."""


def acked(send: Send, acks: Sequence[Ack], key: str | None) -> AckReport:
    """Send *acks* and return the report.

    One request, or two halves, each under a derived key, if one request would name too many batches, touch
    too many pages or be too large. The same acks are divided in the same way, so that a retry repeats the
    same requests.
    """
    from fanin.client.transports.reports import AckReport  # noqa: PLC0415  # most commands ack nothing
    from fanin.tracker.rules.acking import BATCHES_MAX  # noqa: PLC0415  # takes 0.05 s

    halves = _halves(acks)
    if len({ack.batch_id for ack in acks}) <= BATCHES_MAX:
        try:
            return send(acks, key)
        except (TooManyBatches, TooManyBytes, TooManyPages):
            if not all(halves):
                raise
    report = AckReport()
    for number, half in enumerate(halves):
        half_key = None if key is None else str(uuid5(NAMESPACE_OID, f"{key}/half {number}"))
        report += acked(send, half, half_key)
    return report


def _halves(acks: Sequence[Ack]) -> tuple[Sequence[Ack], Sequence[Ack]]:
    """Return *acks* in two parts: a single range is divided; of a single item the first part is empty."""
    if len(acks) > 1:
        return acks[: len(acks) // 2], acks[len(acks) // 2 :]
    (ack,) = acks
    if ack.size == 1:
        return (), acks
    middle = ack.first + ack.size // 2
    return [replace(ack, last=middle - 1)], [replace(ack, first=middle)]


def ranged_requests_of(ranges: Iterable[Ack]) -> Iterator[Sequence[Ack]]:
    """Yield the requests of *ranges*, in order: at most 1,000 ranges and 100,000 items in each."""
    request: list[Ack] = []
    size = 0
    for part in (part for ack in ranges for part in _parts(ack)):
        if request and (len(request) == ITEMS_A_REQUEST or size + part.size > RANGED_A_REQUEST):
            yield request
            request, size = [], 0
        request.append(part)
        size += part.size
    if request:
        yield request


def _parts(ack: Ack) -> Iterator[Ack]:
    """Yield *ack* in parts of at most 100,000 items."""
    for first in range(ack.first, ack.last + 1, RANGED_A_REQUEST):
        yield replace(ack, first=first, last=min(ack.last, first + RANGED_A_REQUEST - 1))


def requests_of(acks: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the requests of *acks* of single items, 1,000 in each."""
    for first in range(0, len(acks), ITEMS_A_REQUEST):
        yield acks[first : first + ITEMS_A_REQUEST]
