"""The tracker's values: batches, requests about them and results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from fanin.errors import InvalidRequest
from fanin.item_ids import ItemId
from fanin.result_texts import RESULT_MAX
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.option_kinds import PRINTABLE
from fanin.tracker.rules.options import LIFETIME_MAX, BatchOptions, Mode
from fanin.tracker.rules.tree import Shape

ESTIMATED_LEAF = 2**20
"""Items of one counter of an estimated batch."""
GRACE = timedelta(days=30)
"""How much longer a batch's row is kept than its pages, for an ending event that is sent late."""
SHARDS = 8
"""Parts of the list of batches to check and of a tenant's list: no index partition takes every write."""

REASON_MAX = 512
"""Characters of the reason of a failure or a cancellation."""
RESULTS_STAY = timedelta(hours=1)
"""How much longer the results of a batch are kept than the batch can be read."""
_PRINTABLE = re.compile(PRINTABLE)


class State(StrEnum):
    """The state of a batch: OPEN and CLOSED are live, the others are final.

    A batch is COMPLETE where every item is acked, or enough items have succeeded; FAILED, where its failures
    ended it before that.
    The row of an EXPIRED batch is kept for its event only; every reader treats the batch as not found.
    """

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"
    EXPIRED = "EXPIRED"


ALIVE = (State.OPEN, State.CLOSED)
ALL_DONE = ("succeeded", "completed_with_failures")
"""The results of a batch of which every item is acked."""
ENOUGH = "enough"
"""The result of a batch that ended because enough of its items had succeeded."""
Position = tuple[datetime, str]
"""The position of a batch in a list: when it was opened, and its id."""


class Outcome(StrEnum):
    """How an item ended."""

    SUCCESS = "success"
    FAILURE = "failure"


class Verdict(StrEnum):
    """The outcome of one acked item, from what is stored; no rule of the tracker depends on it."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    NOT_FOUND = "not_found"
    OUT_OF_RANGE = "out_of_range"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class BatchKey:
    """The key of a batch in the store. It begins with the tenant, so no tenant reaches another's batches."""

    tenant: str
    batch_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.batch_id}"


@dataclass(frozen=True, slots=True)
class PageKey:
    """The key of a page in the store."""

    batch: BatchKey
    level: int
    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether its bits stand for items, not for pages."""
        return self.level == 0

    @property
    def is_prepared(self) -> bool:
        """Whether it is stored before anything below it: all above the leaves but the first of a level."""
        return self.level > 0 and self.number > 0

    def __str__(self) -> str:
        return f"{self.batch}#{self.level}#{self.number}"


@dataclass(frozen=True, slots=True)
class ItemKey:
    """An item of a batch, by its position among all of them."""

    batch: BatchKey
    position: int

    @classmethod
    def of(cls, tenant: str, item_id: str) -> ItemKey:
        """Return the key of the item that *item_id* names. Raises InvalidRequest."""
        item = ItemId.parse(item_id)
        group = GroupId.decode(item.group_id)
        if group is None:
            raise InvalidRequest(f"item {item_id} is of no group", field="itemId")
        return cls(BatchKey(tenant, item.batch_id), group.start + item.index)

    @classmethod
    def within(cls, batch: BatchKey, item_id: str) -> ItemKey:
        """Return the key of the item of *batch* that *item_id* names. Raises InvalidRequest."""
        if ItemId.parse(item_id).batch_id != batch.batch_id:
            raise InvalidRequest(f"item {item_id} is of another batch", field="itemId")
        return cls.of(batch.tenant, item_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(BatchOptions):
    """A batch as it is stored. Its options, salt, page size and deadline never change.

    *failed*: how many items have failed and were not healed; *healed*: how many were, which only grows.
    *reported*: the thresholds that were reported; *stalls*: the number of stalls. *acked_at*: the last
    recorded ack; *stalled_at*: that of the last stall. Only batches that ask for thresholds have them.
    *ended_by*: the principal that forced its end. *origin_batch_id*: the batch whose items it reopens.
    *deleted_at*: when its user data was removed. *cancels_children*: it was cancelled with its children.
    *resumes*: whether a task or durable function waits for its end. *reached*: how many items had succeeded,
    at least, when that was enough; None for every other end.
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
    ended_by: str | None = None
    deadline_at: datetime | None = None
    next_check_at: datetime | None = None
    healed: int = 0
    reported: frozenset[str] = frozenset()
    acked_at: datetime | None = None
    stalls: int = 0
    stalled_at: datetime | None = None
    origin_batch_id: str | None = None
    deleted_at: datetime | None = None
    resumes: bool = False
    cancels_children: bool = False
    reached: int | None = None

    @property
    def key(self) -> BatchKey:
        return BatchKey(self.tenant, self.batch_id)

    @property
    def parent(self) -> ItemKey | None:
        """The item that the batch stands for, or None."""
        return None if self.parent_item_id is None else ItemKey.of(self.tenant, self.parent_item_id)

    @property
    def position(self) -> Position:
        """Its position in a list."""
        return self.created_at, self.batch_id

    @property
    def result(self) -> str | None:
        """How the batch ended; None while it is live."""
        if self.state in ALIVE:
            return None
        if self.state is State.FAILED:
            return "too_many_failures" if self.ended_by is None else "forced"
        if self.state is not State.COMPLETE:
            return self.state.lower()
        if self.reached is not None:
            return ENOUGH
        return "completed_with_failures" if self.failed else "succeeded"

    @property
    def failure_limit(self) -> int | None:
        """How many failed items end the batch in its state; None if no number does.

        A percentage is one of the final total: it ends no batch that is OPEN.
        """
        limits = [] if self.max_failures is None else [self.max_failures]
        if self.max_failure_percent is not None and self.state is not State.OPEN:
            limits.append(max(1, -(-self.total * self.max_failure_percent // 100)))
        return min(limits, default=None)

    @property
    def success_limit(self) -> int | None:
        """How many succeeded items end the batch in its state; None if no number does.

        A percentage is one of the final total: it ends no batch that is OPEN.
        """
        limits = [] if self.min_succeeded is None else [self.min_succeeded]
        if self.min_succeeded_percent is not None and self.state is not State.OPEN:
            limits.append(max(1, -(-self.total * self.min_succeeded_percent // 100)))
        return min(limits, default=None)

    @property
    def is_done(self) -> bool:
        """Whether every item is acked, as its row says."""
        return self.state is State.COMPLETE and self.reached is None

    @property
    def may_fail(self) -> bool:
        """Whether failures can end the batch."""
        return self.max_failures is not None or self.max_failure_percent is not None

    @property
    def is_alive(self) -> bool:
        """Whether the batch is live: items may be acked, and it may end."""
        return self.state in ALIVE

    @property
    def is_stalled(self) -> bool:
        """Whether a stall of the live batch was reported, and no ack was recorded since."""
        return self.is_alive and self.stalled_at == (self.acked_at or self.created_at)

    @property
    def may_cancel_children(self) -> bool:
        """Whether it was cancelled without its children, and is not deleted."""
        return self.state is State.CANCELLED and not self.cancels_children and self.deleted_at is None

    @property
    def shape(self) -> Shape:
        """The shape of its tree of pages."""
        leaf = self.page_bits if self.mode is Mode.EXACT else ESTIMATED_LEAF
        return Shape(leaf, self.page_bits)

    @property
    def pages_expire_at(self) -> datetime:
        """When its pages may be deleted: after the longest lifetime of a batch."""
        return self.created_at + LIFETIME_MAX

    @property
    def results_until(self) -> datetime | None:
        """When the sweep removes the results of an ended batch; None if it keeps none.

        An hour after its expiry, when it is over on every clock, or after its delete, so that what a reader
        or a worker wrote meanwhile is removed too. By the millisecond this check differs from all others,
        which are at whole seconds after the end.
        """
        over_at = self.deleted_at or self.expires_at
        return over_at + RESULTS_STAY + timedelta(milliseconds=1) if self.results else None

    @property
    def takes_results(self) -> bool:
        """Whether it keeps what its items return, and is live."""
        return self.results and self.is_alive

    def need_results(self, field: str, otherwise: str = "") -> None:
        """Raise InvalidRequest about *field* if it keeps no results. *otherwise*: other advice."""
        if not self.results:
            text = f"batch {self.batch_id} keeps no results: open it with the option results{otherwise}"
            raise InvalidRequest(text, field=field)

    @property
    def event_is_in_its_row(self) -> bool:
        """Whether its row has all that its ending event reports: no manifest, and not what was reached."""
        return not self.results and self.reached is None

    @property
    def confirmed_until(self) -> datetime:
        """When the confirmation of its event may be deleted: not before its last check, of its results."""
        return self.row_expires_at if self.results else self.expires_at

    @property
    def row_expires_at(self) -> datetime:
        """When its row, and the row of its idempotency key, may be deleted."""
        return self.pages_expire_at + GRACE


@dataclass(frozen=True, slots=True)
class Receipt:
    """A reservation under its idempotency key; a repeated add returns it."""

    key: str
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """A reservation of the items ``batchId:id:0`` to ``batchId:id:<upto - 1>``."""

    id: str
    upto: int


@dataclass(frozen=True, slots=True)
class Added:
    """The result of add; *total* is the batch's total after this reservation."""

    batch_id: str
    groups: tuple[Group, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The result of close."""

    batch: Batch
    completed_by_caller: bool


@dataclass(frozen=True, slots=True)
class Ack:
    """A consumer's report on the items *first* to *last* (both inclusive) of a group.

    *caller*: a name of the request that is the same in its retries: a message id, an idempotency key.
    *reason*: text that explains a failure; a sample of the reasons is kept. *result*: what the work of one
    item returned, as one line of JSON in ASCII, if its batch keeps results.
    """

    batch_id: str
    group_id: str
    first: int
    last: int
    caller: str
    outcome: Outcome = Outcome.SUCCESS
    reason: str | None = None
    result: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise InvalidRequest("a range of items goes from a smaller index to a larger one", field="from")
        if self.result is not None:
            self._check_result()

    def _check_result(self) -> None:
        if self.size > 1 or self.outcome is Outcome.FAILURE:
            raise InvalidRequest("a result is that of one item that is done", field="result")
        if len(self.result or "") > RESULT_MAX:
            raise InvalidRequest(
                f"the result of an item has at most {RESULT_MAX:,} bytes of JSON: store what is longer in a"
                " place of yours, and return its address",
                field="result",
            )

    @classmethod
    def of(
        cls,
        item: str | ItemId,
        caller: str,
        outcome: Outcome = Outcome.SUCCESS,
        reason: str | None = None,
        result: str | None = None,
    ) -> Ack:
        """Return the ack of one item, which is given as an ``ItemId`` or as text."""
        item = item if isinstance(item, ItemId) else ItemId.parse(item)
        return cls(item.batch_id, item.group_id, item.index, item.index, caller, outcome, reason, result)

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
    """A batch that *caller* completed, with this request or with its first attempt."""

    batch: Batch
    caller: str


@dataclass(frozen=True, slots=True)
class AckReport:
    """The result of ack: results in the order of the acks, and the completions that belong to its callers."""

    results: tuple[Result, ...]
    completions: tuple[Completion, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How many items are acked: at least *acked*, at most *upper_bound*; *exact* if the two are equal.

    *estimate*: how many they probably are, between the two, if the pages that were read are like the others.
    """

    acked: int
    failed: int
    estimate: int
    upper_bound: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """The reason of one failure."""

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
    """A part of a long list; *resume* is the item of the batch to continue from, None at the end."""

    ranges: tuple[ItemRange, ...]
    resume: int | None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What the work of an item returned: *text* is one line of JSON."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of an ended batch that count: those before it was written, under its *name* in the store.

    *parts*: their number. *size*: their bytes. A result that came twice is in two parts.
    """

    name: str
    parts: int
    size: int


def shard_of(batch_id: str) -> int:
    """Return the shard of a batch, from the last digits of its id, which are random."""
    return int(batch_id[-4:], 16) % SHARDS


def is_reason(text: str) -> bool:
    """Return whether *text* has 1 to 512 characters, none of them a control character."""
    return 1 <= len(text) <= REASON_MAX and _PRINTABLE.fullmatch(text) is not None
