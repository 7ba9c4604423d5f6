"""The way from the client to the tracker: over HTTP, or straight on the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from uuid import NAMESPACE_OID, uuid5

from fanin.client.items import Items
from fanin.client.model import (
    AckReport,
    Cancelled,
    Closed,
    Failures,
    NewTask,
    Ranges,
    Registered,
    Status,
    Summaries,
    TaskStatus,
)
from fanin.errors import InvalidRequest, TooManyBatches, TooManyPages
from fanin.tracker import Ack, OpenBatch, State
from fanin.tracker.acking import BATCHES_MAX

T = TypeVar("T")
ITEMS_A_REQUEST = 1000
RANGED_A_REQUEST = 100_000
"""Items that the ranges of one request may cover."""

Cursor = Any
"""Where a list goes on: what the page before said, and means something to its own transport only."""


class TooManyBytes(InvalidRequest):
    """The acks do not fit into one body, as those with reasons may not; they do in smaller requests."""


class Transport(Protocol):
    """One method a call of the API, safe in many threads; all raise the errors of ``fanin.errors`` alike.

    *key* is the idempotency key: the same call with the same key is one call.
    """

    def open(self, wish: OpenBatch, key: str) -> str:
        """The id of the batch."""

    def get(self, batch_id: str) -> Status: ...

    def add(self, batch_id: str, count: int, key: str) -> Items: ...

    def close(self, batch_id: str, key: str) -> Closed: ...

    def cancel(self, batch_id: str, reason: str | None, key: str) -> Cancelled: ...

    def notify(self, batch_id: str, key: str) -> str:
        """The id of the event that is sent again."""

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        """Ack 1 to 1,000 items and ranges, each in the name of its caller; ``acked`` does so in parts.

        *key*: None where the callers are messages, which may come again in another company.
        """

    def outstanding(self, batch_id: str, cursor: Cursor) -> Ranges: ...

    def failures(self, batch_id: str, cursor: Cursor) -> Failures: ...

    def register(self, wish: NewTask, key: str) -> Registered:
        """Take a task in. Raises InvalidRequest on a way that does not lead to the group-batcher."""

    def task(self, task_id: str) -> TaskStatus: ...

    def batches(self, user_key: str | None, state: State | None, cursor: Cursor) -> Summaries: ...


def acked(transport: Transport, acks: Sequence[Ack], key: str | None) -> AckReport:
    """Ack in one request; in halves, each under a key that follows, where that would name too many batches,
    touch too many pages, or be too large.

    Asked again it is cut alike, so that a repetition is the same calls.
    """
    halves = _halves(acks)
    if len({ack.batch_id for ack in acks}) <= BATCHES_MAX:
        try:
            return transport.ack(acks, key)
        except (TooManyBatches, TooManyBytes, TooManyPages):
            if not all(halves):
                raise
    report = AckReport()
    for number, half in enumerate(halves):
        half_key = None if key is None else str(uuid5(NAMESPACE_OID, f"{key}/half {number}"))
        report += acked(transport, half, half_key)
    return report


def _halves(acks: Sequence[Ack]) -> tuple[Sequence[Ack], Sequence[Ack]]:
    """*acks* in two parts: a single range is cut, and of a single item the first part is empty."""
    if len(acks) > 1:
        return acks[: len(acks) // 2], acks[len(acks) // 2 :]
    (ack,) = acks
    if ack.size == 1:
        return (), acks
    middle = ack.first + ack.size // 2
    return [replace(ack, last=middle - 1)], [replace(ack, first=middle)]


def ranged_requests_of(ranges: Sequence[Ack]) -> Iterator[Sequence[Ack]]:
    """*ranges* cut into parts, and those packed in order into what one request takes."""
    request: list[Ack] = []
    for part in (part for ack in ranges for part in _parts(ack)):
        if request and (
            len(request) == ITEMS_A_REQUEST or sum(ack.size for ack in request) + part.size > RANGED_A_REQUEST
        ):
            yield request
            request = []
        request.append(part)
    if request:
        yield request


def _parts(ack: Ack) -> Iterator[Ack]:
    """*ack* in parts of at most as many items as one request may cover."""
    for first in range(ack.first, ack.last + 1, RANGED_A_REQUEST):
        yield replace(ack, first=first, last=min(ack.last, first + RANGED_A_REQUEST - 1))


def requests_of(acks: Sequence[T]) -> Iterator[Sequence[T]]:
    """*acks* of single items cut into what one request takes."""
    for first in range(0, len(acks), ITEMS_A_REQUEST):
        yield acks[first : first + ITEMS_A_REQUEST]
