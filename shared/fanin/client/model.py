"""The answers of the API as typed values, the same over every transport."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from fanin.client.items import Items
from fanin.tracker import Sample, State
from fanin.tracker.rules.options import ShownOptions
from fanin.types import ResultText

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(ShownOptions):
    """A batch as lists return it.

    *result*: None for a live batch, then ``succeeded``, ``completed_with_failures``, ``enough``,
    ``too_many_failures``, ``forced``, ``cancelled`` or ``timed_out``. *reached*: how many items had
    succeeded, at least, when that was ``enough``. *reason*: of a cancel, if one was
    given, or of a forced end, and *ended_by*: who forced it. *origin_batch_id*: the batch whose items it
    reopens. *cancels_children*: it was cancelled together with the live batches below it. Times are aware.
    """

    batch_id: str
    state: State
    total: int
    result: ResultText | None = None
    reached: int | None = None
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    completed_at: datetime | None = None
    ended_at: datetime | None = None
    deadline_at: datetime | None = None
    reason: str | None = None
    origin_batch_id: str | None = None
    ended_by: str | None = None
    cancels_children: bool = False

    @property
    def is_closed(self) -> bool:
        return self.state is not State.OPEN

    @property
    def is_complete(self) -> bool:
        return self.state is State.COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Summary):
    """A batch with its progress.

    At least *acked* of its *total* items are acked, at most *upper_bound*; *exact* if the two are equal.
    *estimate*: how many they probably are, within two percent of the total; show this one.
    """

    acked: int
    failed: int
    estimate: int
    upper_bound: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """The answer of close: *total* is final; *completed_by_you* if this close completed the batch."""

    batch_id: str
    user_key: str | None
    state: State
    total: int
    completed_by_you: bool

    @property
    def is_complete(self) -> bool:
        return self.state is State.COMPLETE


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The answer of cancel and end; *reason* and *ended_at* are those of the first such request.

    *cancels_children*: the live batches below it are cancelled, too.
    """

    batch_id: str
    user_key: str | None
    state: State
    total: int
    result: ResultText | None
    reason: str | None
    ended_at: datetime | None
    ended_by: str | None = None
    cancels_children: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """How far the stack has published an object: *read_bytes* of *size_bytes*, which were *rows* rows.

    *is_published*: all rows were sent, and the batch is closed. *size_bytes*: None until the object is read.
    *reason*: why it stopped.
    """

    batch_id: str
    source: str | None
    user_key: str | None
    state: State
    is_published: bool
    rows: int
    read_bytes: int
    size_bytes: int | None = None
    reason: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Pairs:
    """A page of a reopened batch's items: ranges of its origin, each with the range that stands for it."""

    pairs: tuple[tuple[Items, Items], ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many batches were deleted, and how many were left, whose ending events are not confirmed yet."""

    deleted: int
    unconfirmed: int
    cursor: Any = None


@dataclass(frozen=True, slots=True)
class Ranges:
    """A page of items; *cursor* is None on the last one."""

    items: tuple[Items, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Failures:
    """A page of failed items; *samples*, reasons of failures, are on the first page only."""

    items: tuple[Items, ...]
    samples: tuple[Sample, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Summaries:
    """A page of batches; *cursor* is None on the last one."""

    batches: tuple[Summary, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Rows(Generic[R]):
    """A page of a list."""

    rows: tuple[R, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class QueueDescription:
    """A work queue: its *parts*, and the SQS queue that is its doorbell, for example an event source.

    While the parts are raised: *target*: to which number; *phase*: ``preparing``, ``draining``, ``expiring``;
    *since*: when a sweep first saw the phase. Otherwise the phase is ``steady``.
    """

    name: str
    parts: int
    doorbell_url: str
    doorbell_arn: str
    target: int | None = None
    phase: str = "steady"
    since: datetime | None = None
