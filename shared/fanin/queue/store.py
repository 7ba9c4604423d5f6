"""The port to the store of jobs and sessions. Each call is one atomic request.

Every write is conditional, because a request can time out after it was applied. A write that returns a job
returns it as it is stored now, also where its condition failed: a caller repeats the request and compares.
Reads are consistent. A request whose outcome is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fanin.errors import InvalidRequest
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey
from fanin.queue.rules.model import Dead, Entry, GivenBack, Job, JobState, Member, OutboxEntry, Rerun
from fanin.queue.rules.order import IndexKey, IndexRange

Write = Mapping[str, Any]
"""One entry of the user's for a DynamoDB TransactWriteItems request."""
MOST_WRITES = 98
WRITE_KINDS = ("Put", "Update", "Delete", "ConditionCheck")


class JobStore(Protocol):
    """The store of jobs."""

    def config(self, queue: QueueKey) -> QueueConfig | None:
        """Return the config of a queue; None for a queue that does not exist."""

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        """Store *config* unless the queue exists; return the stored config."""

    def reconfigure(self, queue: QueueKey, config: QueueConfig) -> QueueConfig | None:
        """Store *config* over the one of the revision before it; return the stored one, None without any."""

    def add(self, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        """Store *job* where its key has none, or over the done one that was seen; return the stored job.

        With a *check*, in one transaction with its condition. None where *over* was seen and its mark is gone
        since, or where the check failed and the key has no job; nothing was written.
        """

    def collide(self, seen: Job) -> None:
        """Count a collision on the live job that rejected an add."""

    def rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        """Request one more run of a busy job, over the rerun that was seen; return the stored job."""

    def get(self, key: JobKey) -> Job | None:
        """Return the job of a key, or the mark of a done one."""

    def ready(self, part: PartKey, limit: int) -> Sequence[Entry]:
        """Return the first ready jobs of a part, in order."""

    def claim(self, seen: Entry, session: str, claim: str, at: int) -> Job | None:
        """Make a ready job busy; return it, or None where it was claimed or changed since it was seen."""

    def give_back(self, seen: Entry, release: GivenBack) -> bool:
        """Return a busy job from the claim that was seen; False where it has another claim, or none."""

    def end(self, job: Job, at: int, writes: Sequence[Write] = (), dead: Dead | None = None) -> Job | None:
        """End a busy job in one transaction with the user's *writes*, the *dead* record and its outbox entry.

        Returns the job that the key holds now, or None; ``lifecycle.claim_status`` compares it.
        Raises StaleWrite where the claim holds and a condition among *writes* does not.
        """

    def promote(self, seen: Entry, at: int) -> bool:
        """Make a delayed job ready; False where it changed since it was seen."""

    def outstanding(self, part: PartKey, now: int) -> Sequence[Entry]:
        """Return the busy jobs of a part, and the delayed ones that are due."""

    def claims_of(self, part: PartKey, session: str) -> Sequence[Entry]:
        """Return the busy jobs of a part that a session claimed."""

    def outbox(self, part: PartKey) -> Sequence[OutboxEntry]:
        """Return the outbox entries of a part; those that cannot be read are logged and left out."""

    def has_outbox(self, part: PartKey) -> bool:
        """Return whether a part has an outbox entry, or one that cannot be read."""

    def delete_outbox_entry(self, queue: QueueKey, entry: OutboxEntry) -> None:
        """Delete a reported entry; repeatable."""

    def jobs(self, part: PartKey, state: JobState, limit: int) -> Sequence[Job]:
        """Return the first jobs of a part in a state, in the order of the index."""

    def first(self, part: PartKey, limit: int) -> Sequence[Entry]:
        """Return the first live jobs of a part in the order of the index: ready, busy, delayed."""

    def count(self, part: PartKey, state: JobState, limit: int) -> int:
        """Return the number of jobs of a part in a state, at most *limit*; it may lag behind by seconds."""

    def count_dead(self, part: PartKey, limit: int) -> int:
        """Return the number of dead jobs of a part, at most *limit*; it may lag behind by seconds."""

    def dead(self, part: PartKey, limit: int) -> Sequence[Dead]:
        """Return the dead jobs of a part, the longest dead first."""

    def revive(self, dead: Dead, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        """Store *job* as ``add`` does and delete the record of *dead*, or neither; return the stored job."""

    def page(self, part: PartKey, after: str, limit: int) -> tuple[Sequence[Job], str | None]:
        """Return up to *limit* jobs and marks of a part by sort key, from *after* on, and the last sort key.

        None for the last sort key: there are no more.
        """

    def move(self, seen: Job, job: Job, over: Job | None, at: int) -> bool:
        """Store *job* as ``add`` does, and a mark in place of the waiting job *seen*, or neither.

        Returns False where a condition failed, also after a request that was applied.
        """

    def remove(self, seen: Job, entries: Sequence[OutboxEntry]) -> bool:
        """Delete a job and store the outbox *entries* in one transaction; False where the job has changed."""

    def remove_dead(self, dead: Dead) -> bool:
        """Delete the record of a dead job; False where it is gone."""

    def delete(self, seen: Job, entries: Sequence[OutboxEntry], at: int, deletion: str) -> Job | None:
        """Store the mark of ``lifecycle.deleted`` over the job that was seen, and the outbox *entries*.

        Both in one transaction. Returns the job that is stored then, also where the job has changed.
        """

    def job_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        """Return the keys of the first live jobs of a part in a range of the index, in its order."""

    def dead_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        """Return the keys of the first dead jobs of a part in a range of the index, in its order."""

    def jobs_at(self, keys: Sequence[JobKey]) -> Sequence[Job]:
        """Return the stored jobs and marks of *keys*, which are distinct, in any order."""

    def dead_at(self, records: Sequence[tuple[PartKey, str]]) -> Sequence[Dead | None]:
        """Return the dead job of each record, which are distinct; None where there is none."""


class SessionStore(Protocol):
    """The store of sessions."""

    def enter(self, queue: QueueKey, member: Member) -> None:
        """Store a new session."""

    def beat(self, queue: QueueKey, session: str, expires_us: int) -> bool:
        """Write a heartbeat; False where the session was ended, which is final."""

    def members(self, queue: QueueKey) -> Sequence[Member]:
        """Return every stored session."""

    def members_after(self, queue: QueueKey, after: str | None, limit: int) -> Sequence[Member]:
        """Return the first stored sessions after the id *after*, in the order of their ids."""

    def some_members(self, queue: QueueKey, ids: Sequence[str]) -> Sequence[Member]:
        """Return those of the sessions *ids* that are stored."""

    def peek(self, queue: QueueKey, ids: Sequence[str] | None) -> Sequence[Member]:
        """Return the sessions *ids* (None: all) as they were some time before; not a consistent read."""

    def peek_config(self, queue: QueueKey) -> tuple[int, int]:
        """Return the revision of the config and the count of changes of the sessions, as ``peek`` does."""

    def count_change(self, queue: QueueKey) -> None:
        """Count that a session that owns parts began or ended."""

    def end_session(self, queue: QueueKey, session: str, heartbeats: int | None) -> bool:
        """Mark a session dead if it has had *heartbeats* (None: any number); False where it has had more."""

    def forget(self, queue: QueueKey, session: str) -> None:
        """Delete a session that was ended."""


class QueueStore(JobStore, SessionStore, Protocol):
    """The store of a queue; ``tests/contract/queue`` tests each implementation."""


def checked_write(write: Write) -> Write:
    """Return *write*, an entry of TransactWriteItems."""
    kinds = list(write) if isinstance(write, Mapping) else []
    if len(kinds) != 1 or kinds[0] not in WRITE_KINDS or not isinstance(write[kinds[0]], Mapping):
        raise InvalidRequest(
            f"a write is an entry of TransactWriteItems, a mapping with one of {', '.join(WRITE_KINDS)}",
            field="writes",
        )
    return write
