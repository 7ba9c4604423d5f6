"""The work queue's values. Every time is in microseconds since 1970, every duration in microseconds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fanin.arguments import Seconds, flag, seconds_of, utf8, whole
from fanin.errors import InvalidRequest
from fanin.item_ids import checked_item_id
from fanin.queue.rules import order
from fanin.queue.rules.keys import NAME_BYTES_MAX, PARTS_MAX, JobKey
from fanin.result_texts import json_text

SECOND_US = 1_000_000
PAYLOAD_BYTES_MAX = 128 * 1024
"""A job can hold two payloads, its own and that of its rerun; an item of DynamoDB holds 400 KB."""
SECONDS_MAX = 366 * 86_400
"""The longest delay, wait and interval."""
FAILURES_MAX = 1_000_000
MARK_SECONDS = 3600
"""How long a done job's mark holds: longer than a copy of a request can be delayed, since its signature is
valid for 15 minutes."""
EARLIER_MOST = 4
"""How many jobs of its key before it a job knows."""
ID_BYTES_MAX = 512
"""The longest id of a job, in bytes of UTF-8."""


class JobState(StrEnum):
    """The state of a stored job. The first three are live: an add of the same key is rejected.

    Rows have these names, and all interfaces those of *shown*: this is the one place where they meet.
    """

    READY = "ready"
    BUSY = "busy"
    DELAYED = "delayed"
    DONE = "done"

    @property
    def shown(self) -> str:
        """The name in the APIs, of the command and of events."""
        return {JobState.READY: "queued", JobState.BUSY: "inProgress"}.get(self, self.value)


class OnBusy(StrEnum):
    """What an add does where the job of its key is busy: it is rejected, or requests a rerun."""

    REJECT = "reject"
    RERUN = "rerun"


@dataclass(frozen=True, slots=True)
class Options:
    """How this process uses a queue; only *parts* is stored, by the process that creates the queue.

    Times are in seconds, or timedeltas.
    *heartbeat*: seconds between two heartbeats. *expiry*: seconds without a heartbeat after which the claims
    of a session are freed. *max_failures*: failures at which a job is dead; None: no limit.
    *retry_delay*: seconds that a failed job waits. *sweep*, *idle_sweep*: seconds between two sweeps of a
    part, while it has live jobs and while it has none. *doorbell_wait*: seconds without a ring after which a
    waiting take reads its parts, in case a ring was lost. *renew*: whether a take starts a new session where
    the last one was lost, without the error SessionLost.
    """

    parts: int = 8
    heartbeat: float = 1.0
    expiry: float = 5.0
    max_failures: int | None = None
    retry_delay: float = 0.0
    sweep: float = 5.0
    idle_sweep: float = 20.0
    doorbell_wait: float = 20.0
    renew: bool = False

    if TYPE_CHECKING:  # the fields take what __post_init__ converts

        def __init__(
            self,
            parts: int = ...,
            heartbeat: Seconds = ...,
            expiry: Seconds = ...,
            max_failures: int | None = ...,
            retry_delay: Seconds = ...,
            sweep: Seconds = ...,
            idle_sweep: Seconds = ...,
            doorbell_wait: Seconds = ...,
            renew: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        whole(self.parts, "parts", 1, PARTS_MAX)
        for name in ("heartbeat", "expiry", "retry_delay", "sweep", "idle_sweep", "doorbell_wait"):
            object.__setattr__(self, name, seconds_of(getattr(self, name), name, SECONDS_MAX))
        if not 0 < 2 * self.heartbeat <= self.expiry:
            raise InvalidRequest(
                f"an expiry is at least two heartbeats of {self.heartbeat:g} s, and more than 0, not"
                f" {self.expiry:g} s",
                field="expiry",
            )
        if self.max_failures is not None:
            whole(self.max_failures, "max_failures", 1, FAILURES_MAX)
        flag(self.renew, "renew")


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add, distinct by *key*; *delay* in seconds or as a timedelta, *priority* from
    0 to 999.

    *payload*: a value of JSON, at most 128 KiB as text; None: no payload.
    *id*: makes the add safe to repeat for an hour after the job is done, as long as no more than four other
    jobs of its key are added meanwhile.
    *item_id*: the item of a batch that is acked when the job ends.
    """

    key: str
    payload: Any = field(default=None, hash=False)
    priority: int = 0
    delay: float = 0.0
    item_id: str | None = None
    id: str | None = None
    payload_text: str | None = field(init=False, repr=False, compare=False, default=None)
    """The payload as it is stored: one line of JSON."""

    if TYPE_CHECKING:  # the fields take what __post_init__ converts

        def __init__(
            self,
            key: str,
            payload: Any = ...,
            priority: int = ...,
            delay: Seconds = ...,
            item_id: str | None = ...,
            id: str | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        utf8(self.key, "key", 1, NAME_BYTES_MAX)
        whole(self.priority, "priority", 0, order.PRIORITY_MAX)
        object.__setattr__(self, "delay", seconds_of(self.delay, "delay", SECONDS_MAX))
        if self.payload is not None:
            stored = utf8(json_text(self.payload, "payload"), "payload", 1, PAYLOAD_BYTES_MAX)
            object.__setattr__(self, "payload_text", stored)
        object.__setattr__(self, "item_id", checked_item_id(self.item_id, "item_id"))
        if self.id is not None:
            utf8(self.id, "id", 1, ID_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Rerun:
    """One more run, requested while the job was busy; it is queued when the current one ends."""

    id: str
    added_us: int
    priority: int
    payload: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class EarlierJob:
    """A job that its key had before: the digest of its id, and when it ended, or was replaced as a rerun."""

    digest: str
    ended_us: int

    def is_known(self, now: int) -> bool:
        """Return whether its mark would still hold."""
        return now < self.ended_us + MARK_SECONDS * SECOND_US


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is stored.

    *generation* counts the jobs that its key has had. *done_by*: the claim that ended this job if it is DONE,
    else the claim that ended the one before it. *revival*: the id of the request that revived it, if it was
    dead. *before*: the last jobs of its key before it, the latest first, for their repeated adds.
    *ready_us*: since when it is ready, or when it is due. *deliveries*, *failures*, *collisions*
    (rejected adds), *queued_us*, *busy_us*: metrics. *item_failure*: why its item fails although the job
    ends well; *item_result*: the result of its item, as JSON. Its worker has both, and the outbox entry of
    its end.
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
    before: tuple[EarlierJob, ...] = ()
    item_failure: str | None = None
    item_result: str | None = None

    @property
    def ending(self) -> str:
        """The key of the end of a busy job: a claim is used once, while several jobs can have the same id."""
        return f"{self.claim}#{self.key.sort}"

    @property
    def position(self) -> str:
        """The sort key of the job among the ready ones of its part; it never changes."""
        return order.ready(self.priority, self.added_us)

    @property
    def ix(self) -> str | None:
        """The sort key of the job in the index; None for a done job, which the index does not have."""
        if self.state is JobState.BUSY:
            return order.busy(self.session or "", self.claimed_us or 0)
        if self.state is JobState.DELAYED:
            return order.delayed(self.ready_us)
        if self.state is JobState.READY:
            return self.position
        return None

    @property
    def is_live(self) -> bool:
        """Whether it is ready, busy or delayed."""
        return self.state is not JobState.DONE

    def expired(self, now: int) -> bool:
        """Return whether it is a mark older than an hour; DynamoDB may keep its row for days."""
        return self.done_us is not None and self.done_us + MARK_SECONDS * SECOND_US <= now

    def answers(self, job_id: str, now: int) -> bool:
        """Return whether an add of *job_id* is a repeated one.

        It is this job, its requested rerun or an earlier job, unless its mark would be older than an hour.
        """
        if self.id == job_id or (self.rerun is not None and self.rerun.id == job_id):
            return not self.expired(now)
        earlier = [each for each in self.before if each.is_known(now)]
        return bool(earlier) and digest_of(job_id) in {each.digest for each in earlier}


@dataclass(frozen=True, slots=True)
class Entry:
    """A job as the index shows it: enough to claim, free or promote it."""

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
    """How a claimed job is returned: at *at*, with or without a failure, ready now or at *due_us*."""

    at: int
    failed: bool = False
    due_us: int | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """A dead job: the job as it was, and the error of its last run."""

    job: Job
    error: str
    died_us: int

    @property
    def record(self) -> str:
        """The sort key of its row."""
        return self.job.ending


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """The end of a job whose item is to be acked: a success, or a failure (*failed*).

    *reason*: the error of a dead job, or the ``item_failure`` of another one. *ending*: ``Job.ending``, the
    sort key of its row. *part*: the number of the job's part, with which the row lies. *result*: the result
    of the item, as JSON.
    """

    job_id: str
    item_id: str
    failed: bool
    reason: str | None
    ending: str
    part: int
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected add; *state*: that of the live job of its key."""

    key: str
    state: JobState


@dataclass(frozen=True, slots=True)
class Member:
    """A session as it is stored; it is alive as long as its *heartbeats* grow.

    *beats*: False for a Lambda invocation, whose session is alive until *expires_us*.
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


class Accuracy(StrEnum):
    """How the numbers of a depth were found: counted, estimated from a sample, or counted up to a bound."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    AT_LEAST = "atLeast"


@dataclass(frozen=True, slots=True)
class PartLook:
    """A part as a sweep sees it.

    *first*: its first jobs in the order of the index; *complete*: whether these are all. *outstanding*: the
    busy jobs, and the delayed ones that are due. *readable*: whether each of the first rows could be read.
    """

    first: tuple[Entry, ...]
    outstanding: tuple[Entry, ...]
    complete: bool
    readable: bool = True

    @property
    def in_use(self) -> bool:
        """Whether the part holds a live job; a row that cannot be read may be one."""
        return bool(self.first) or not self.readable

    @property
    def head(self) -> Entry | None:
        """The first ready job."""
        return self.first[0] if self.first and self.first[0].state is JobState.READY else None


@dataclass(frozen=True, slots=True)
class Depth:
    """The number of jobs in each state; *oldest_us*: how long the oldest ready job has waited."""

    ready: int
    busy: int
    delayed: int
    dead: int
    oldest_us: int
    accuracy: Accuracy = Accuracy.EXACT


def payload_of(stored: str | None) -> Any:
    """Return the payload of a job from the text that its row has."""
    return None if stored is None else json.loads(stored)


def digest_of(job_id: str) -> str:
    """Return 64 bits of a job's id: an id can have 512 bytes, and a longer row costs more to write."""
    return hashlib.sha256(job_id.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Ring:
    """A hint that *part* may hold work.

    *due*: a delayed job there is due. *receipt*: the doorbell's handle of the message.
    """

    part: int
    due: bool = False
    receipt: str = field(default="", compare=False)
