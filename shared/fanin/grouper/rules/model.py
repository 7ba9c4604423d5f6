"""The values of the group-batcher: tasks, lanes, leases, bundles and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanin.grouper.rules.ids import bundle_id
from fanin.item_ids import checked_item_id

PART = "part-"
RATE = "rate"


class TaskState(StrEnum):
    """The states of a task; the last three are terminal."""

    CREATED = "CREATED"
    BUNDLED = "BUNDLED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"

    @property
    def ended(self) -> bool:
        """Whether the state is terminal."""
        return self in {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.DEAD}


class Status(StrEnum):
    """A task's state as the API reports it; IN_PROGRESS is derived from the bundle and never stored."""

    CREATED = "CREATED"
    BUNDLED = "BUNDLED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"


class BundleState(StrEnum):
    """The states of a bundle; the last two are terminal."""

    OPEN = "OPEN"
    READY = "READY"
    CALLING = "CALLING"
    APPLYING = "APPLYING"
    DONE = "DONE"
    FAILED = "FAILED"

    @property
    def ended(self) -> bool:
        """Whether the state is terminal."""
        return self in {BundleState.DONE, BundleState.FAILED}


class Verdict(StrEnum):
    """What happens to a member. The batch API returns one of the first three; the rules derive the others."""

    OK = "ok"
    RETRY = "retry"
    FAIL = "fail"
    APART = "apart"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and its reason; the reason is empty if there is none.

    *result*: of a success, what the work returned, as JSON; it is kept for the task's item, and not stored.
    """

    verdict: Verdict
    detail: str = ""
    result: str | None = None


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to register. *payload*: any JSON value. *priority*: 0 to 999, larger values are bundled first.

    *target* may be None if the grouper computes it. *item_id*: an item of a tracked batch, which is acked
    with the task's outcome.
    """

    payload: Any
    target: str | None = None
    task_id: str | None = None
    priority: int = 0
    item_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "item_id", checked_item_id(self.item_id))


@dataclass(frozen=True, slots=True)
class TaskKey:
    """The key of a task in the store. It begins with the tenant, so no tenant can reach another's tasks."""

    tenant: str
    task_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.task_id}"


@dataclass(frozen=True, slots=True)
class BundleKey:
    """The key of a bundle in the store."""

    tenant: str
    bundle_id: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.bundle_id}"


@dataclass(frozen=True, slots=True)
class Lane:
    """The tasks that may share a bundle, led by one leader at a time.

    A target has one lane for each shard, and a lane for each part of a refused bundle. Target and shard
    contain no ``#``, so the text form is unique.
    """

    tenant: str
    target: str
    shard: str

    def __str__(self) -> str:
        return f"{self.tenant}#{self.target}#{self.shard}"

    @property
    def is_part(self) -> bool:
        """Whether the lane holds a part of a refused bundle."""
        return self.shard.startswith(PART)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is stored. *due_at*: the earliest time at which it may be bundled."""

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
        """Whether readers see the task as absent and its id is free; its row may be stored for days more."""
        return self.expires_at <= now

    def may_join(self, bundle: Bundle) -> bool:
        """Whether the task is open in the bundle's lane, and was due when the bundle was begun."""
        is_due = self.due_at <= bundle.created_at
        return is_due and self.state is TaskState.CREATED and self.lane == bundle.lane

    def asks_for_the_same(self, other: Task) -> bool:
        """Whether both tasks were registered with the same target, payload, priority and item."""
        return self._request() == other._request()

    def _request(self) -> tuple[object, ...]:
        return (self.target, self.payload, self.priority, self.item_id)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task as the index of open tasks shows it; the index may lag behind the task."""

    lane: Lane
    task_id: str
    due_at: datetime

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.lane.tenant, self.task_id)


@dataclass(frozen=True, slots=True)
class Lease:
    """A leader's term of a lane.

    *fence* grows with each term. *holder* is None once the leader released it.
    """

    lane: Lane
    fence: int
    holder: str | None
    until: datetime

    def is_held(self, now: datetime) -> bool:
        """Whether a leader holds the lease at *now*."""
        return self.holder is not None and self.until > now

    def next(self, until: datetime) -> Lease:
        """Return the next term of the same holder."""
        return replace(self, fence=self.fence + 1, until=until)

    def released(self) -> Lease:
        """Return the lease without a holder."""
        return replace(self, holder=None)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as it is stored; sealed once it is no longer OPEN. *version* counts its writes.

    *owner* calls the batch API until *call_until*. *not_before*: the earliest time of the next call.
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
        """Whether it was sealed without a member, so that the claims of a slow leader fail."""
        return not self.members

    def expired(self, now: datetime) -> bool:
        """Whether readers see the bundle as absent; its row may be stored for days more."""
        return self.expires_at <= now

    def transition(self, state: BundleState, **facts: Any) -> Bundle:
        """Return the bundle in *state* at its next version, with the changed *facts*."""
        return replace(self, state=state, version=self.version + 1, **facts)

    def joined(self, ids: tuple[str, ...]) -> Bundle:
        """Return the bundle with *ids* as its last members, at its next version."""
        return replace(self, members=self.members + ids, version=self.version + 1)
