"""Work queues as the calls that administer them return them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fanin.client.model import QueueDescription

if TYPE_CHECKING:
    from fanin.queue.administration.creating import Ensured


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """A work queue with the number of its jobs in each state.

    *activity*: ``inUse``, ``idle``, ``asleep`` or ``removing``. *accuracy*: of the numbers: ``exact``,
    ``approximate`` or ``atLeast``. *oldest_seconds*: how long the oldest queued job has waited.
    *counted_at*: when the numbers were found: in a list by the last sweep, which takes place each minute.
    """

    name: str
    parts: int
    paused: bool
    metrics: bool
    activity: str
    queued: int
    in_progress: int
    delayed: int
    dead: int
    accuracy: str
    oldest_seconds: float
    doorbell_url: str | None = None
    counted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSession:
    """A session of a work queue; *kind*: ``worker``, or ``function`` for a Lambda invocation."""

    id: str
    kind: str
    live: bool
    host: str
    pid: int
    started_at: datetime
    heartbeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueJob:
    """A listed job. *due_at*: of a delayed job. *error*, *died_at*, *dead_id*: of a dead job."""

    key: str
    job_id: str
    state: str
    priority: int
    added_at: datetime
    queued_seconds: float
    in_progress_seconds: float
    deliveries: int
    failures: int
    collisions: int
    payload: str | None = None
    item_id: str | None = None
    due_at: datetime | None = None
    error: str | None = None
    died_at: datetime | None = None
    dead_id: str | None = None


@dataclass(frozen=True, slots=True)
class RevivedJobs:
    """How many dead jobs were revived. *left*: by dead id, why others were not: ``liveJob``, ``notFound``."""

    revived: int
    left: dict[str, str]
    cursor: Any = None

    def __add__(self, other: RevivedJobs) -> RevivedJobs:
        """Return both as one."""
        return RevivedJobs(self.revived + other.revived, self.left | other.left, other.cursor)


@dataclass(frozen=True, slots=True)
class DeletedJobs:
    """By key and by dead id, the outcome of each job: ``deleted``, ``inProgress`` or ``notFound``."""

    jobs: dict[str, str]
    dead: dict[str, str]

    def __add__(self, other: DeletedJobs) -> DeletedJobs:
        """Return both as one."""
        return DeletedJobs(self.jobs | other.jobs, self.dead | other.dead)


@dataclass(frozen=True, slots=True)
class QueuePage:
    """A page of queues, sessions or jobs; *cursor* is None on the last one."""

    rows: tuple[Any, ...]
    cursor: Any


def description_of(name: str, ensured: Ensured) -> QueueDescription:
    """Return the queue *name* as its creation answers it."""
    config = ensured.config
    return QueueDescription(
        name=name,
        parts=config.before or config.parts,
        doorbell_url=config.doorbell or "",
        doorbell_arn=ensured.doorbell_arn,
        target=config.parts if config.before else None,
        phase=config.phase.value,
        since=None if config.since_us is None else datetime.fromtimestamp(config.since_us / 1e6, UTC),
    )
