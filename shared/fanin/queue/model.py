"""The work queue's values. Every time is in microseconds since 1970, every duration in microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fanin.errors import InvalidRequest
from fanin.queue import order
from fanin.queue.keys import PARTS_MAX, JobKey

SECOND_US = 1_000_000
PAYLOAD_BYTES_MAX = 128 * 1024
"""A job may hold two payloads, its own and that of the run asked for; an item of DynamoDB holds 400 KB."""
DELAY_MAX_SECONDS = 366 * 86_400
MARK_SECONDS = 3600
"""How long a done job's mark holds: longer than any copy of a request can be under way (its signature is
good for 15 minutes)."""


ID_BYTES_MAX = 512
"""Bytes of a job's id and of an item's."""


class JobState(StrEnum):
    """Where a job is in its life. The first three are alive and refuse another job of their key."""

    READY = "ready"
    BUSY = "busy"
    DELAYED = "delayed"
    DONE = "done"


class OnBusy(StrEnum):
    """What becomes of an add whose key is being worked on at the moment."""

    REJECT = "reject"
    RERUN = "rerun"


@dataclass(frozen=True, slots=True)
class Options:
    """How this process uses a queue; only *parts* is the queue's own, and fixed by its first user.

    *heartbeat*, *expiry*: seconds between signs of life, and without one until the claims are freed.
    *max_failures*: a job that failed so often is dead; None lets it be tried for ever.
    *retry_delay*: seconds that a failed job waits. *sweep*, *idle_sweep*: seconds between two looks at a
    part for claims that nobody holds. *doorbell_wait*: seconds of silence after which a waiting take
    looks into its parts, in case a ring was lost.
    """

    parts: int = 8
    heartbeat: float = 1.0
    expiry: float = 5.0
    max_failures: int | None = None
    retry_delay: float = 0.0
    sweep: float = 5.0
    idle_sweep: float = 20.0
    doorbell_wait: float = 20.0

    def __post_init__(self) -> None:
        if not 1 <= self.parts <= PARTS_MAX:
            raise InvalidRequest(f"a queue has 1 to {PARTS_MAX} parts", field="parts")
        if not 0 < 2 * self.heartbeat <= self.expiry:
            raise InvalidRequest("an expiry holds two heartbeats at least", field="expiry")
        if self.max_failures is not None and self.max_failures < 1:
            raise InvalidRequest("max_failures is 1 at least", field="max_failures")
        checked_delay(self.retry_delay)


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a producer wants done: distinct by *key*; *delay* in seconds, *priority* 0 to 999.

    *id*: given, it makes the add safe to repeat for an hour, while no other job of its key comes between;
    *item_id*: what the outside is told of the end.
    """

    key: str
    payload: str | None = None
    priority: int = 0
    delay: float = 0.0
    item_id: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        order.checked_priority(self.priority)
        checked_delay(self.delay)
        _check_text("payload", self.payload, PAYLOAD_BYTES_MAX)
        _check_text("item_id", self.item_id, ID_BYTES_MAX)
        _check_text("id", self.id, ID_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that was asked for while the job was busy; it follows when the present one ends."""

    id: str
    added_us: int
    priority: int
    payload: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is stored.

    *generation* counts the jobs that its key has had; *done_by* is the claim that ended this one where it
    is DONE, and otherwise the claim that ended the one before it. *revival*: the request that brought it
    back from the dead, if one did. *ready_us*: since when it is ready, or when it is due. *deliveries*,
    *failures*, *collisions* (refused adds), *queued_us*, *busy_us*: metrics.
    """

    key: JobKey
    name: str
    id: str
    state: JobState
    priority: int
    added_us: int
    ready_us: int
    payload: str | None = None
    item_id: str | None = None
    generation: int = 1
    deliveries: int = 0
    failures: int = 0
    collisions: int = 0
    queued_us: int = 0
    busy_us: int = 0
    session: str | None = None
    claim: str | None = None
    claimed_us: int | None = None
    rerun: Rerun | None = None
    done_by: str | None = None
    done_us: int | None = None
    revival: str | None = None

    @property
    def ending(self) -> str:
        """Names the end of a busy job: no claim is used twice, whereas several jobs may have one id."""
        return f"{self.claim}#{self.key.sort}"

    @property
    def place(self) -> str:
        """Its place among the ready jobs of its part, for life."""
        return order.place(self.priority, self.added_us)

    @property
    def ix(self) -> str | None:
        """What it is sorted by now; None where no listing has it."""
        if self.state is JobState.BUSY:
            return order.busy(self.session or "", self.claimed_us or 0)
        if self.state is JobState.DELAYED:
            return order.delayed(self.ready_us)
        if self.state is JobState.READY:
            return self.place
        return None

    @property
    def is_live(self) -> bool:
        return self.state is not JobState.DONE

    def expired(self, now: int) -> bool:
        """Whether it is the mark of a done job whose time is over, though its row may stay for days."""
        return self.done_us is not None and self.done_us + MARK_SECONDS * SECOND_US <= now


@dataclass(frozen=True, slots=True)
class Entry:
    """A job as the index has it: enough to claim it, to free it or to promote it."""

    key: JobKey
    job_id: str
    ix: str
    state: JobState
    deliveries: int
    ready_us: int
    session: str | None = None
    claim: str | None = None
    claimed_us: int | None = None


@dataclass(frozen=True, slots=True)
class GivenBack:
    """How a claimed job returns: at *at*, with a failure counted or not, ready now or at *due_us*."""

    at: int
    failed: bool = False
    due_us: int | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """A job that failed too often, as it was, with the error of its last run.

    *keyed_by_id*: its row was written by 0.1, under the job's id.
    """

    job: Job
    error: str
    died_us: int
    keyed_by_id: bool = False

    @property
    def record(self) -> str:
        """The sort key of its row."""
        return self.job.id if self.keyed_by_id else self.job.ending


@dataclass(frozen=True, slots=True)
class Telling:
    """What the outside is still to be told: the job with this item ended, well or (*failed*) dead.

    *reason*: the error of a dead job. *ending*: names the end; None where 0.1 wrote the row, by the job's id.
    """

    job_id: str
    item_id: str
    failed: bool
    reason: str | None = None
    ending: str | None = None

    @property
    def record(self) -> str:
        """The sort key of its row."""
        return self.job_id if self.ending is None else self.ending


@dataclass(frozen=True, slots=True)
class Rejected:
    """An add that was refused: the live job of that key is in *state*."""

    key: str
    state: JobState


@dataclass(frozen=True, slots=True)
class Member:
    """A session as it is stored: a worker process, alive while its heartbeat moves.

    One that does not *beat* lives until *expires_us*, as a function's invocation does.
    """

    id: str
    beats: bool
    expires_us: int
    expiry_us: int
    host: str
    pid: int
    started_us: int
    live: bool = True
    heartbeats: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """How full the queue is; *oldest_us* is how long the oldest ready job has waited."""

    ready: int
    busy: int
    delayed: int
    dead: int
    oldest_us: int


def checked_delay(seconds: float) -> float:
    """*seconds*, where a job may wait for so long; InvalidRequest where it may not."""
    if not 0 <= seconds <= DELAY_MAX_SECONDS:
        raise InvalidRequest("a delay goes from 0 seconds to 366 days", field="delay")
    return seconds


def _check_text(field: str, text: str | None, most: int) -> None:
    """Refuse what cannot be stored: it would be found out when the job ends."""
    try:
        size = len((text or "").encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{field} is Unicode text", field=field) from error
    if size > most:
        raise InvalidRequest(f"{field} has at most {most} bytes", field=field)


@dataclass(frozen=True, slots=True)
class Ring:
    """Work in *part*; *due*: a delayed job there is due about now. *receipt* is the doorbell's own."""

    part: int
    due: bool = False
    receipt: str = field(default="", compare=False)
