"""The words of the group-batcher as values: tasks, lanes, leases, bundles and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanin.grouper.ids import bundle_id

PART = "part-"
RATE = "rate"


class TaskState(StrEnum):
    """Where a task is in its life; the last three are for ever."""

    CREATED = "CREATED"
    BUNDLED = "BUNDLED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"

    @property
    def ended(self) -> bool:
        return self in {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.DEAD}


class BundleState(StrEnum):
    """Where a bundle is in its life; the last two are for ever."""

    OPEN = "OPEN"
    READY = "READY"
    CALLING = "CALLING"
    APPLYING = "APPLYING"
    DONE = "DONE"
    FAILED = "FAILED"

    @property
    def ended(self) -> bool:
        return self in {BundleState.DONE, BundleState.FAILED}


class Verdict(StrEnum):
    """What becomes of a member: the downstream API says one of the first three, the rules the others."""

    OK = "ok"
    RETRY = "retry"
    FAIL = "fail"
    APART = "apart"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict, with what there is to say about it."""

    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NewTask:
    """What a caller wants done. *payload*: any JSON value. *priority*: 0 to 999, larger goes first.

    *target* may be left out where the grouper computes it. *item_id*: an item of a tracked batch, to be
    acked with the task's outcome.
    """

    payload: Any
    target: str | None = None
    task_id: str | None = None
    priority: int = 0
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class TaskKey:
    """Names a task in the store; the tenant comes first, so that no tenant can reach another's."""

    tenant: str
    task_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.task_id}"


@dataclass(frozen=True, slots=True)
class BundleKey:
    """Names a bundle in the store."""

    tenant: str
    bundle_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.bundle_id}"


@dataclass(frozen=True, slots=True)
class Lane:
    """Tasks that may share a bundle. A target has one lane or some shards, and small lanes for parts that
    were taken out of a bundle. Neither target nor shard contains ``#``, so the text names one lane only."""

    tenant: str
    target: str
    shard: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.target}#{self.shard}"

    @property
    def is_part(self) -> bool:
        return self.shard.startswith(PART)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is stored. *due_at*: the earliest moment at which it may be bundled."""

    tenant: str
    task_id: str
    target: str
    shard: str
    state: TaskState
    payload: str = field(repr=False)
    priority: int
    item_id: str | None
    attempts: int
    created_at: datetime
    due_at: datetime
    expires_at: datetime
    bundle_id: str | None = None
    detail: str = ""

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.tenant, self.task_id)

    @property
    def lane(self) -> Lane:
        return Lane(self.tenant, self.target, self.shard)

    def expired(self, now: datetime) -> bool:
        """Whether the task is absent for its readers and its id is free, though its row may stay for days."""
        return self.expires_at <= now

    def asks_for_the_same(self, other: Task) -> bool:
        """Whether both were registered by one and the same request."""
        return self._request() == other._request()

    def _request(self) -> tuple[object, ...]:
        return (self.target, self.payload, self.priority, self.item_id)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task as the index of open tasks shows it, perhaps no longer true."""

    lane: Lane
    task_id: str
    due_at: datetime

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.lane.tenant, self.task_id)


@dataclass(frozen=True, slots=True)
class Lease:
    """A term of leadership over a lane. *fence* rises with each; no *holder*: the leader let go."""

    lane: Lane
    fence: int
    holder: str | None
    until: datetime

    def is_held(self, now: datetime) -> bool:
        return self.holder is not None and self.until > now

    def next(self, until: datetime) -> Lease:
        """The next term of the same leader."""
        return replace(self, fence=self.fence + 1, until=until)

    def released(self) -> Lease:
        return replace(self, holder=None)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The paper's batch, as it is stored: sealed once it is no longer OPEN. *version* counts its writes.

    *owner* calls the downstream API until *call_until*; *not_before*: the earliest next call.
    """

    lane: Lane
    fence: int
    state: BundleState
    members: tuple[str, ...]
    version: int
    created_at: datetime
    expires_at: datetime
    attempt: int = 0
    owner: str | None = None
    call_until: datetime | None = None
    not_before: datetime | None = None
    outcomes: tuple[Outcome, ...] = ()

    @property
    def tenant(self) -> str:
        return self.lane.tenant

    @property
    def bundle_id(self) -> str:
        return bundle_id(str(self.lane), self.fence)

    @property
    def key(self) -> BundleKey:
        return BundleKey(self.tenant, self.bundle_id)

    @property
    def is_void(self) -> bool:
        """Whether it only stands in the way of a leader who was slow: sealed before it had a member."""
        return not self.members

    def expired(self, now: datetime) -> bool:
        """Whether the bundle is absent for its readers, though its row may stay for days."""
        return self.expires_at <= now

    def turned(self, state: BundleState, **facts: Any) -> Bundle:
        """The bundle after its next write."""
        return replace(self, state=state, version=self.version + 1, **facts)

    def joined(self, ids: tuple[str, ...]) -> Bundle:
        return replace(self, members=self.members + ids, version=self.version + 1)
