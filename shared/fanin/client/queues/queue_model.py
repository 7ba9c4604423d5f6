"""Work queues as the client shows them, over the API or on the table: names and units are those of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from fanin.client.model import QueueDescription
from fanin.instants import datetime_of
from fanin.queue.rules.lifecycle import worked
from fanin.queue.rules.model import SECOND_US, Dead, JobState, Member, payload_of
from fanin.queue.rules.row_texts import dead_id_of
from fanin.types import JobStateText, ListedStateText

if TYPE_CHECKING:
    from fanin.queue import Job as JobRow
    from fanin.queue.administration import describing
    from fanin.queue.administration.creating import Ensured

Revival = Literal["liveJob", "notFound"]
Deletion = Literal["deleted", "inProgress", "notFound"]


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
class Job:
    """A job, taken or listed. *payload*: the value of JSON that it was added with.

    *claim*: of a taken job, another one in each take. *due_at*: of a delayed job. *error*, *died_at*,
    *dead_id*: of a dead job.
    """

    key: str
    job_id: str
    state: JobStateText
    priority: int
    added_at: datetime
    queued_seconds: float
    in_progress_seconds: float
    deliveries: int
    failures: int
    collisions: int
    payload: Any = None
    item_id: str | None = None
    claim: str | None = None
    due_at: datetime | None = None
    error: str | None = None
    died_at: datetime | None = None
    dead_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedJob:
    """A rejected add; *state*: that of the live job of its key."""

    key: str
    state: ListedStateText


@dataclass(frozen=True, slots=True)
class RevivedJobs:
    """How many dead jobs were *revived*. *not_revived*: by dead id, why: ``liveJob``, ``notFound``."""

    revived: int
    not_revived: dict[str, Revival]
    cursor: Any = None

    def __add__(self, other: RevivedJobs) -> RevivedJobs:
        """Return both as one."""
        return RevivedJobs(self.revived + other.revived, self.not_revived | other.not_revived, other.cursor)


@dataclass(frozen=True, slots=True)
class DeletedJobs:
    """By key and by dead id, the outcome of each job: ``deleted``, ``inProgress`` or ``notFound``."""

    jobs: dict[str, Deletion]
    dead: dict[str, Deletion]

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
        since=None if config.since_us is None else datetime_of(config.since_us),
    )


def status_of(found: describing.QueueStatus) -> QueueStatus:
    """Return the status of a queue."""
    config, depth = found.config, found.depth
    return QueueStatus(
        name=found.name,
        parts=config.before or config.parts,
        paused=config.paused,
        metrics=config.metrics,
        activity=found.activity.value,
        queued=depth.ready,
        in_progress=depth.busy,
        delayed=depth.delayed,
        dead=depth.dead,
        accuracy=depth.accuracy.value,
        oldest_seconds=depth.oldest_us / SECOND_US,
        doorbell_url=config.doorbell,
        counted_at=datetime_of(found.counted_us),
    )


def session_of(member: Member) -> QueueSession:
    """Return a session."""
    return QueueSession(
        id=member.id,
        kind="worker" if member.beats else "function",
        live=member.live,
        host=member.host,
        pid=member.pid,
        started_at=datetime_of(member.started_us),
        heartbeats=member.heartbeats,
    )


def job_of(row: JobRow, now: int) -> Job:
    """Return a job from its row; *now*: microseconds since 1970."""
    return _job(
        row,
        queued_seconds=_seconds(row.queued_us, row.ready_us if row.state is JobState.READY else None, now),
        in_progress_seconds=_seconds(
            row.busy_us, row.claimed_us if row.state is JobState.BUSY else None, now
        ),
        state=row.state.shown,
        claim=row.claim,
        due_at=datetime_of(row.ready_us) if row.state is JobState.DELAYED else None,
    )


def dead_job_of(dead: Dead) -> Job:
    """Return a dead job from its row."""
    row = dead.job
    return _job(
        row,
        queued_seconds=row.queued_us / SECOND_US,
        in_progress_seconds=row.busy_us / SECOND_US,
        state="dead",
        error=dead.error,
        died_at=datetime_of(dead.died_us),
        dead_id=dead_id_of((row.key.part.number, dead.record)),
    )


def _job(row: JobRow, **facts: Any) -> Job:
    return Job(
        key=row.name,
        job_id=row.id,
        priority=row.priority,
        added_at=datetime_of(row.added_us),
        deliveries=row.deliveries,
        failures=row.failures,
        collisions=row.collisions,
        payload=payload_of(row.payload),
        item_id=row.item_id,
        **facts,
    )


def _seconds(before_us: int, since_us: int | None, now: int) -> float:
    """Return the seconds of *before_us*, and those since *since_us* in a state that still holds."""
    return (before_us + (worked(since_us, now) if since_us is not None else 0)) / SECOND_US
