"""What callers are told: the answers of the API as typed values, the same over every transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanin.client.items import Items
from fanin.tracker import Sample, State, Verdict
from fanin.tracker.options import ShownOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(ShownOptions):
    """A batch as lists show it.

    *result* is set once it has ended: ``succeeded``, ``completed_with_failures``, ``cancelled`` or
    ``timed_out``; *reason* says why, where somebody said. Times are aware.
    """

    batch_id: str
    state: State
    total: int
    result: str | None = None
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    completed_at: datetime | None = None
    ended_at: datetime | None = None
    deadline_at: datetime | None = None
    reason: str | None = None

    @property
    def is_closed(self) -> bool:
        return self.state is not State.OPEN

    @property
    def is_complete(self) -> bool:
        return self.state is State.COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Summary):
    """A batch as it stands.

    At least *acked* of its *total* items are done, at most *upper_bound*; *exact* where the two meet.
    """

    acked: int
    failed: int
    upper_bound: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """The answer to close: *total* is final; *completed_by_you* where nothing was outstanding any more."""

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
    """The answer to cancel; *state* and *result* are others where the batch had ended before."""

    batch_id: str
    user_key: str | None
    state: State
    total: int
    result: str | None
    reason: str | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What became of one acked item."""

    item_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class RangeVerdict:
    """What became of the items *first* to *last* (both inclusive) of a group: how many got each verdict."""

    batch_id: str
    group_id: str
    first: int
    last: int
    counts: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True)
class Completion:
    """A batch that these acks completed, now or when they were sent the first time."""

    batch_id: str
    user_key: str | None
    result: str | None


@dataclass(frozen=True, slots=True)
class AckReport:
    """The answer to ack: a verdict for each item, in the order of the items, and what they completed.

    *ranges*: the same for the parts in which ranges were sent, 100,000 items at most in each.
    """

    results: tuple[ItemVerdict, ...] = ()
    completions: tuple[Completion, ...] = ()
    ranges: tuple[RangeVerdict, ...] = ()

    def __add__(self, other: AckReport) -> AckReport:
        """Both; a batch that several requests of one call are told of is named once."""
        completions = tuple(dict.fromkeys(self.completions + other.completions))
        return AckReport(self.results + other.results, completions, self.ranges + other.ranges)


@dataclass(frozen=True, slots=True)
class Ranges:
    """A page of items; *cursor* is None on the last one."""

    items: tuple[Items, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Failures:
    """A page of failed items, and on the first page some of the reasons."""

    items: tuple[Items, ...]
    samples: tuple[Sample, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class Summaries:
    """A page of batches; *cursor* is None on the last one."""

    batches: tuple[Summary, ...]
    cursor: Any


@dataclass(frozen=True, slots=True)
class NewTask:
    """What is wanted of the group-batcher. *payload*: any JSON value, up to 32 KiB."""

    target: str
    payload: Any
    task_id: str | None = None
    priority: int = 0
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """A task that is taken care of; *state* is not ``CREATED`` where it is further, registered before."""

    task_id: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """A task as it stands.

    *state*: ``CREATED``, ``BUNDLED``, ``IN_PROGRESS``, and in the end ``SUCCEEDED``, ``FAILED`` or ``DEAD``,
    which is after too many attempts. *reason*: why it failed, or was last put back.
    """

    task_id: str
    target: str
    state: str
    priority: int
    attempts: int
    created_at: datetime
    expires_at: datetime
    bundle_id: str | None = None
    item_id: str | None = None
    reason: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in {"SUCCEEDED", "FAILED", "DEAD"}
