"""The port between the queue and whatever keeps its jobs. Each call is one atomic request.

Every write is conditional. One that gives a job gives it as it is stored now, whether it was this write
that made it so or an earlier one: a caller that got no answer asks again and looks. Reads are consistent.
A request whose outcome is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fanin.queue.keys import JobKey, PartKey, QueueKey
from fanin.queue.model import Dead, Entry, GivenBack, Job, JobState, Member, Rerun, Telling

Write = Mapping[str, Any]
"""One entry of a DynamoDB TransactWriteItems request, as the user built it."""
MOST_WRITES = 98


class JobStore(Protocol):
    """What a store promises of jobs."""

    def configure(self, queue: QueueKey, parts: int) -> int:
        """Fix the number of parts of a queue, unless it is fixed; the fixed one."""

    def add(self, job: Job, over: Job | None) -> Job | None:
        """Store *job* where no job of its key is, or over the done one that was seen; the stored one.

        None where the done one that was seen has left no mark any more, and nothing was written.
        """

    def collide(self, seen: Job) -> None:
        """Count a refused add on the live job that refused it."""

    def rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        """Ask for one more run of a busy job, in place of the one asked for when it was seen."""

    def get(self, key: JobKey) -> Job | None:
        """The job of a key, the mark of a done one included."""

    def ready(self, part: PartKey, limit: int) -> Sequence[Entry]:
        """The first ready jobs of a part, in order."""

    def claim(self, seen: Entry, session: str, claim: str, at: int) -> Job | None:
        """Turn the ready job that was seen into a busy one; None where somebody else was there first."""

    def give_back(self, seen: Entry, how: GivenBack) -> bool:
        """Free a busy job from the claim that it was seen under; False where it is under another, or none."""

    def end(self, job: Job, at: int, writes: Sequence[Write] = (), dead: Dead | None = None) -> Job | None:
        """End a busy job under its claim, with the user's *writes*, the *dead* record and the telling of
        its item, or nothing at all.

        Gives the job as it is stored now, None where its key has none: ``life.fate`` tells what that means.
        Raises StaleWrite where the claim holds and a condition among *writes* does not.
        """

    def promote(self, seen: Entry, at: int) -> bool:
        """Turn the delayed job that was seen into a ready one; False where it has moved on."""

    def outstanding(self, part: PartKey, now: int) -> Sequence[Entry]:
        """The busy jobs of a part, and the delayed ones that are due."""

    def claims_of(self, part: PartKey, session: str) -> Sequence[Entry]:
        """The busy jobs of a part that a session claimed."""

    def tellings(self, queue: QueueKey) -> Sequence[Telling]:
        """What the outside is still to be told."""

    def told(self, queue: QueueKey, telling: Telling) -> None:
        """Drop what the outside was told."""

    def jobs(self, part: PartKey, state: JobState, limit: int) -> Sequence[Job]:
        """The first jobs of a part in a state, in the order of the index."""

    def count(self, part: PartKey, state: JobState) -> int:
        """How many jobs of a part are in a state."""

    def count_dead(self, queue: QueueKey) -> int:
        """How many jobs are dead."""

    def dead(self, queue: QueueKey, limit: int) -> Sequence[Dead]:
        """The dead jobs, the longest dead first."""

    def revive(self, dead: Dead, job: Job, over: Job | None) -> Job | None:
        """Store *job* as add does and drop the record of this death, or neither; the stored one, if any."""


class SessionStore(Protocol):
    """What a store promises of sessions."""

    def enter(self, queue: QueueKey, member: Member) -> None:
        """Store a new session."""

    def beat(self, queue: QueueKey, session: str, expires_us: int) -> bool:
        """A sign of life; False where the session was ended, and then it is for ever."""

    def members(self, queue: QueueKey) -> Sequence[Member]:
        """Every session that is stored."""

    def end_session(self, queue: QueueKey, session: str, heartbeats: int | None) -> bool:
        """End a session whose heartbeat stands where it was seen (None: wherever); False where it moved."""

    def forget(self, queue: QueueKey, session: str) -> None:
        """Drop a session that was ended."""


class QueueStore(JobStore, SessionStore, Protocol):
    """What a store promises; the contract suite holds each of them to it."""
