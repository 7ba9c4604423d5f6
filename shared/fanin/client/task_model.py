"""The answers of the API about tasks, bundles and targets, and a task to register."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin.errors import FaninError


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to register with the group-batcher. *payload*: any JSON value, up to 32 KiB.

    *target*: None if the stack computes it from the payload.
    """

    target: str | None
    payload: Any
    task_id: str | None = None
    priority: int = 0
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """A stored task; *state* is not ``CREATED`` if it was registered before and has advanced."""

    task_id: str
    state: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one of several tasks: its *state*, or the *error* for which it is not registered."""

    task_id: str | None
    state: str | None
    error: FaninError | None = None


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A task in a list. *reason*: why it failed, or why it was last retried."""

    task_id: str
    state: str
    due_at: datetime
    bundle_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSummary:
    """A bundle in a list. *attempt*: the number of calls that were started for it."""

    bundle_id: str
    target: str
    state: str
    size: int
    attempt: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSummary:
    """A target. *waiting*: tasks that wait for a bundle, and others if *waiting_more*.

    *in_flight*: its newest bundles that have not ended. *next_window_at*: when the next bundle is filled at
    the latest, *next_call_at*: when the rate allows a call; None if nothing waits, or a call is allowed now.
    *rate*: calls a second, None without a limit. *leaders*: how many fill bundles, until *lease_until*.
    """

    target: str
    pattern: str | None
    shards: int
    waiting: int
    waiting_more: bool
    in_flight: int
    next_window_at: datetime | None
    next_call_at: datetime | None
    rate: float | None = None
    leaders: int = 0
    lease_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """A task and its state.

    *state*: ``CREATED``, ``BUNDLED``, ``IN_PROGRESS``; terminal are ``SUCCEEDED``, ``FAILED`` and ``DEAD``,
    after too many attempts. *reason*: why the last attempt failed.
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
