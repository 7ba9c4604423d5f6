"""The tracker's values: what a batch is, what is asked of it and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from fanin.errors import InvalidRequest
from fanin.tracker.ids import ItemId


class State(StrEnum):
    """Where a batch is in its life; the first two are alive, the others are for ever."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    COMPLETE = "COMPLETE"


class Verdict(StrEnum):
    """What became of one acked item; it speaks of what is stored, and nothing else may hang on it."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    NOT_FOUND = "not_found"
    OUT_OF_RANGE = "out_of_range"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a batch is kept in each stage of its life, counted from entering it."""

    open: timedelta = timedelta(days=7)
    closed: timedelta = timedelta(days=14)
    complete: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """What a caller wants of a new batch."""

    user_key: str | None = None
    mode: str = "exact"
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class BatchKey:
    """Names a batch in the store; the tenant comes first, so that no tenant can reach another's."""

    tenant: str
    batch_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.batch_id}"


@dataclass(frozen=True, slots=True)
class PageKey:
    """Names a page in the store."""

    batch: BatchKey
    level: int
    number: int

    def __str__(self) -> str:
        return f"{self.batch}#{self.level}#{self.number}"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it is stored. Salt, page size, mode and retention never change."""

    tenant: str
    batch_id: str
    state: State
    mode: str
    user_key: str | None
    total: int
    failed: int
    page_bits: int
    salt: bytes = field(repr=False)
    fingerprint: str
    retention: Retention
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    completed_at: datetime | None = None
    completed_by: str | None = None

    @property
    def key(self) -> BatchKey:
        return BatchKey(self.tenant, self.batch_id)

    @property
    def result(self) -> str | None:
        """How the batch ended; None while it has not."""
        if self.state is not State.COMPLETE:
            return None
        return "completed_with_failures" if self.failed else "succeeded"

    @property
    def pages_expire_at(self) -> datetime:
        """When its pages may go: after the longest life the batch can have."""
        kept = self.retention
        return self.created_at + kept.open + kept.closed + kept.complete + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A reservation under its idempotency key: asked for again, it is answered again."""

    key: str
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """A reservation as its caller sees it: items ``batchId:id:0`` to ``batchId:id:<upto - 1>``."""

    id: str
    upto: int


@dataclass(frozen=True, slots=True)
class Added:
    """The answer to add; *total* is the batch's after this reservation."""

    batch_id: str
    groups: tuple[Group, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The answer to close."""

    batch: Batch
    completed_by_caller: bool


@dataclass(frozen=True, slots=True)
class Ack:
    """A consumer's word on the items *first* to *last* (both inclusive) of a group.

    *caller* names the one who asks, stably under its own retries: a message id, an idempotency key.
    """

    batch_id: str
    group_id: str
    first: int
    last: int
    caller: str

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise InvalidRequest("a range of items goes from a smaller index to a larger one", field="from")

    @classmethod
    def of(cls, item: str | ItemId, caller: str) -> Ack:
        """The ack of one item, given as its id or as the text of it."""
        item = ItemId.parse(item) if isinstance(item, str) else item
        return cls(item.batch_id, item.group_id, item.index, item.index, caller)

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Result:
    """How many of an ack's items got each verdict."""

    ack: Ack
    counts: Mapping[Verdict, int]

    @property
    def verdict(self) -> Verdict:
        """The one verdict of an ack of one item."""
        (verdict,) = self.counts
        return verdict


@dataclass(frozen=True, slots=True)
class Completion:
    """A batch that *caller* completed, now or when it asked the first time."""

    batch: Batch
    caller: str


@dataclass(frozen=True, slots=True)
class AckReport:
    """The answer to ack: results in the order of the acks, completions for the callers among them."""

    results: tuple[Result, ...]
    completions: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is: *acked* items are surely done, at most *upper_bound*; *exact* where they meet."""

    acked: int
    failed: int
    upper_bound: int
    exact: bool
