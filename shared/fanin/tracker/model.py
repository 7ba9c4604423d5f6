"""The tracker's values: what a batch is, what is asked of it and what is answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from fanin.errors import InvalidRequest
from fanin.tracker.ids import ItemId
from fanin.tracker.tree import Shape

ESTIMATED_LEAF = 2**20
"""Items that one counter of an estimated batch stands for."""
LIFE_MAX = timedelta(days=400)
"""No batch lives longer, however active it is: after that its pages are gone."""
GRACE = timedelta(days=30)
"""A batch's row outlasts its pages by so much: for its event, should the sweeper come late."""
USER_KEY_MAX = 256
"""Characters of a user key."""
LABELS_MAX = 10
LABEL_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f:]{1,64}")
LABEL_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f]{0,256}")
SHARDS = 8
"""Parts of the list of batches to look at, and of a tenant's list: no index partition takes every write."""


class State(StrEnum):
    """Where a batch is in its life; the first two are alive, the others are for ever.

    An EXPIRED batch is there for its event alone: for every reader it is gone.
    """

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    COMPLETE = "COMPLETE"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"
    EXPIRED = "EXPIRED"


ALIVE = (State.OPEN, State.CLOSED)
Position = tuple[datetime, str]
"""The position of a batch in a list: when it was opened, and its id."""


class Mode(StrEnum):
    """Exact: a bit an item. Estimated: counters, in which a duplicate ack counts twice."""

    EXACT = "exact"
    ESTIMATED = "estimated"


class Outcome(StrEnum):
    """How an item ended."""

    SUCCESS = "success"
    FAILURE = "failure"


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

    def __post_init__(self) -> None:
        if not all(isinstance(kept, timedelta) for kept in (self.open, self.closed, self.complete)):
            raise InvalidRequest(
                "a retention is told in timedeltas, such as timedelta(days=1)", field="retentionSeconds"
            )
        if self.open + self.closed + self.complete > LIFE_MAX:
            raise InvalidRequest(
                f"the three retentions may add up to {LIFE_MAX.days} days", field="retentionSeconds"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOptions:
    """The options of a batch that every answer about it shows; they are chosen at open and never change."""

    user_key: str | None = None
    mode: Mode = Mode.EXACT
    expected_items: int | None = None
    max_failures: int | None = None
    parent_item_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(ShownOptions):
    """All options of a batch that its row keeps."""

    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch(BatchOptions):
    """A request for a new batch. *deadline*: the batch times out so long after it was opened."""

    deadline: timedelta | None = None

    def __post_init__(self) -> None:
        if self.user_key is not None and not 1 <= len(self.user_key) <= USER_KEY_MAX:
            raise InvalidRequest(f"a user key has 1 to {USER_KEY_MAX} characters", field="userKey")
        object.__setattr__(self, "labels", _checked_labels(self.labels))


def _checked_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return *labels* in the order of their keys; raise InvalidRequest for a key or a value out of bounds."""
    if not isinstance(labels, Mapping) or len(labels) > LABELS_MAX:
        raise InvalidRequest(f"labels are a mapping of at most {LABELS_MAX} keys to values", field="labels")
    for key, value in labels.items():
        if not isinstance(key, str) or not LABEL_KEY.fullmatch(key):
            raise InvalidRequest(
                "the key of a label has 1 to 64 characters, no control character and no colon", field="labels"
            )
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            raise InvalidRequest(
                "the value of a label has up to 256 characters and no control character", field="labels"
            )
    return dict(sorted(labels.items()))


def options_of(source: BatchOptions) -> dict[str, Any]:
    """Return the options of a batch, or of the request for it, by their names."""
    return {option.name: getattr(source, option.name) for option in fields(BatchOptions)}


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

    @property
    def is_leaf(self) -> bool:
        """Whether its bits stand for items, not for pages."""
        return self.level == 0

    def __str__(self) -> str:
        return f"{self.batch}#{self.level}#{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(BatchOptions):
    """A batch as it is stored. Its options, salt, page size and deadline never change.

    *failed*: how many items have failed and were not healed; *healed*: how many were, which only grows.
    """

    tenant: str
    batch_id: str
    state: State
    total: int
    failed: int
    page_bits: int
    salt: bytes = field(repr=False)
    fingerprint: str
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    completed_at: datetime | None = None
    completed_by: str | None = None
    ended_at: datetime | None = None
    end_reason: str | None = None
    deadline_at: datetime | None = None
    due_at: datetime | None = None
    healed: int = 0

    @property
    def key(self) -> BatchKey:
        return BatchKey(self.tenant, self.batch_id)

    @property
    def position(self) -> Position:
        """Its position in a list."""
        return self.created_at, self.batch_id

    @property
    def result(self) -> str | None:
        """How the batch ended; None while it has not."""
        if self.state in ALIVE:
            return None
        if self.state is not State.COMPLETE:
            return self.state.lower()
        return "completed_with_failures" if self.failed else "succeeded"

    @property
    def is_alive(self) -> bool:
        """Whether it may still change: items may be acked, and it may end."""
        return self.state in ALIVE

    @property
    def shape(self) -> Shape:
        """How its tree is built."""
        leaf = self.page_bits if self.mode is Mode.EXACT else ESTIMATED_LEAF
        return Shape(leaf, self.page_bits)

    @property
    def pages_expire_at(self) -> datetime:
        """When its pages may go: after the longest life the batch can have."""
        return self.created_at + LIFE_MAX

    @property
    def row_expires_at(self) -> datetime:
        """When its row may go, and the row of the key that stands for it."""
        return self.pages_expire_at + GRACE


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
    *reason* says in words why a failure failed; a sample of them is kept.
    """

    batch_id: str
    group_id: str
    first: int
    last: int
    caller: str
    outcome: Outcome = Outcome.SUCCESS
    reason: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise InvalidRequest("a range of items goes from a smaller index to a larger one", field="from")

    @classmethod
    def of(
        cls,
        item: str | ItemId,
        caller: str,
        outcome: Outcome = Outcome.SUCCESS,
        reason: str | None = None,
    ) -> Ack:
        """The ack of one item, given as its id or as the text of it."""
        item = ItemId.parse(item) if isinstance(item, str) else item
        return cls(item.batch_id, item.group_id, item.index, item.index, caller, outcome, reason)

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


@dataclass(frozen=True, slots=True)
class Sample:
    """One failure, in words."""

    item_id: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ItemRange:
    """The items *first* to *last* (both inclusive) of a group."""

    group_id: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a long list, and the item of the batch to go on from; None at its end."""

    ranges: tuple[ItemRange, ...]
    resume: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFilter:
    """Which batches of a tenant are listed: those that have every property given here."""

    user_key: str | None = None
    state: State | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if self.label is not None and (not isinstance(self.label, str) or ":" not in self.label):
            raise InvalidRequest("batches are listed by a label as key:value", field="label")

    @property
    def reads_rows(self) -> bool:
        """Whether rows have to be read to find the batches: only a user key has a list of its own."""
        return self.state is not None or self.label is not None

    @property
    def label_pair(self) -> tuple[str, str] | None:
        """The key and the value of the label, where it is given."""
        key, _, value = (self.label or "").partition(":")
        return None if self.label is None else (key, value)

    def matches(self, batch: Batch) -> bool:
        """Whether *batch* has every property."""
        same_key = self.user_key is None or batch.user_key == self.user_key
        labeled = self.label_pair is None or self.label_pair in batch.labels.items()
        return same_key and labeled and (self.state is None or batch.state is self.state)


def filter_of(source: BatchFilter) -> dict[str, Any]:
    """Return the properties of a filter, or of a query that has one, by their names."""
    return {wanted.name: getattr(source, wanted.name) for wanted in fields(BatchFilter)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(BatchFilter):
    """One list of a tenant's batches: those of a user key, or one shard of all.

    *before*: only batches opened earlier, or at the same time with a smaller id.
    """

    tenant: str
    shard: int
    limit: int
    before: Position | None = None

    def covers(self, batch: Batch) -> bool:
        """Whether the rows of this list that are read include *batch*, whether it matches or not."""
        listed = shard_of(batch.batch_id) == self.shard if self.user_key is None else self._is_named(batch)
        earlier = self.before is None or batch.position < self.before
        return batch.tenant == self.tenant and listed and earlier

    def _is_named(self, batch: Batch) -> bool:
        return batch.user_key == self.user_key


def shard_of(batch_id: str) -> int:
    """The shard of a batch: from the last digits of its id, which are as good as random."""
    return int(batch_id[-4:], 16) % SHARDS
