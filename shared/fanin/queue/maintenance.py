"""Frees the claims of dead sessions, promotes due jobs and reports outbox entries.

Every worker does it for the whole queue; each step may be the last one before a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from fanin.calling import done, log_failure
from fanin.errors import StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.keys import Partition, PartKey
from fanin.queue.members import overdue, owned, owners
from fanin.queue.model import SECOND_US, Entry, GivenBack, JobState, Member, Ring
from fanin.queue.session import Session
from fanin.queue.watching import Watching

logger = logging.getLogger("fanin")

SECOND_RING_SECONDS = 1.0


@dataclass
class Maintenance:
    """Maintains the queue of *context*; *session* is the one of this worker, None in the scheduled sweep.

    *freed*: the jobs whose claims it freed, as they are since, until its worker takes them.
    """

    context: QueueContext
    session: Session | None = None
    next_sweep: float = 0.0
    freed: list[Entry] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    watching: Watching = field(init=False)

    def __post_init__(self) -> None:
        self.watching = Watching(self.context, self.session.id if self.session else None)

    def tick(self) -> bool:
        """Run one round of a long-lived worker; return whether its session is still alive."""
        with suppress(StoreUnavailable):
            if self.end_expired(self.watching.look()):
                self.read_members()  # the parts of the ended sessions are shared anew
            if self.context.effects.monotonic() >= self.next_sweep:
                self._sweep_own()
        return self.session is not None and self.session.alive()

    def read_members(self) -> None:
        """Read the sessions, which share the parts, and note which of them moved."""
        self.watching.read_all()

    def own_parts(self) -> range:
        """Return the parts of this session by the members read last; all parts without a heartbeat."""
        parts = self.context.config().parts
        if self.session is None or not self.session.member.beats:
            return range(parts)
        return owned(parts, owners(self.watching.members), self.session.id)

    def end_expired(self, members: Sequence[Member]) -> bool:
        """End those of *members* without a heartbeat for their expiry, free their claims; return if any was.

        Expiry is measured on this process's monotonic clock.
        """
        expired = self.watching.expired(members)
        for member in expired:
            self._end(member)
        return bool(expired)

    def end_overdue(self) -> None:
        """End each session that is past its expiry by the wall clock, and free its claims.

        The scheduled sweep, which does not run long enough to watch heartbeats, uses this.
        """
        for member in self.watching.members:
            if overdue(member, self.context.effects.now()):
                self._end(member)

    def sweep(self, parts: Iterable[int]) -> bool:
        """Free the claims of ended sessions and promote due jobs; return whether the parts hold live jobs."""
        keys = [self.context.part(part) for part in parts]
        effects, now = self.context.effects, self.context.effects.now()
        # The claims are read before the sessions: a session is stored before it claims.
        outstanding = effects.each(lambda key: self.context.store.outstanding(key, now), keys)
        found = [entry for entries in outstanding for entry in entries]
        busy = [entry for entry in found if entry.state is JobState.BUSY]
        self._free_abandoned(busy)
        for entry in found:
            if entry.state is JobState.DELAYED:
                self.promote(entry)
        waiting = effects.each(self._ring_for_old, keys)
        return bool(found) or any(waiting)

    def promote_due(self, part: int) -> None:
        """Make the due delayed jobs of a part ready."""
        due = self.context.store.outstanding(self.context.part(part), self.context.effects.now())
        for entry in due:
            if entry.state is JobState.DELAYED:
                self.promote(entry)

    def promote(self, entry: Entry) -> None:
        """Make one delayed job ready, and ring for it."""
        if self.context.store.promote(entry, self.context.effects.now()):
            self.context.ring([Ring(entry.key.part.number)])

    def free_all(self, entries: Sequence[Entry]) -> None:
        """Return the jobs of an ended session to their positions, without counting failures."""
        rings = [Ring(entry.key.part.number) for entry in entries]
        try:
            self.context.effects.each(self.free, entries)
        finally:
            self.context.ring(rings)
            self._ring_again(rings)

    def free(self, entry: Entry) -> None:
        """Return one job to its position, and note it for the next take of this worker.

        The worker that frees a claim takes the job itself, whichever session owns the part: the owner can
        have crashed too, and not be missed yet.
        """
        how = GivenBack(self.context.effects.now())
        if self.context.store.give_back(entry, how):
            with self.lock:
                self.freed.append(replace(entry, state=JobState.READY, ready_us=how.at))

    def pop_freed(self, most: int) -> list[Entry]:
        """Remove and return up to *most* of the freed jobs, those that were claimed first before the others.

        Jobs freed longer ago than two expiries are dropped: by then each part belongs to a live session.
        """
        late = self.context.effects.now() - round(2 * self.context.options.expiry * SECOND_US)
        with self.lock:
            fresh = [entry for entry in self.freed if entry.ready_us > late]
            fresh.sort(key=lambda entry: entry.claimed_us or 0)
            self.freed = fresh[most:]
        return fresh[:most]

    def report_outbox(self, parts: Iterable[int]) -> None:
        """Report and delete the outbox entries of *parts*, and those that 0.1 wrote with the queue.

        One that cannot be reported stays for the next run.
        """
        report, store, queue = self.context.report, self.context.store, self.context.key
        if report is None:
            return
        where: list[Partition] = [queue, *(self.context.part(part) for part in parts)]
        for entry in [entry for some in self.context.effects.each(store.outbox, where) for entry in some]:
            try:
                done(report(entry), "report")
            except StoreUnavailable:
                raise
            except Exception as error:  # one entry must not keep the others from being reported
                log_failure(logger, "the end of job %s cannot be reported", entry.job_id, error=error)
            else:
                store.delete_outbox_entry(queue, entry)

    def _end(self, member: Member) -> None:
        """Mark a session dead, so that it cannot beat again; then free its claims, and delete it."""
        if self.context.store.end_session(self.context.key, member.id, member.heartbeats):
            self.free_all(self._claims_of(member))
            self.context.store.forget(self.context.key, member.id)
            if member.beats:
                self.context.store.count_change(self.context.key)

    def _claims_of(self, member: Member) -> list[Entry]:
        """Return the claims of a session; several parts are read at once, because workers wait for them."""
        store = self.context.store
        found = self.context.effects.each(lambda key: store.claims_of(key, member.id), self.context.parts())
        return [entry for entries in found for entry in entries]

    def _sweep_own(self) -> None:
        doubts = self.session.doubts() if self.session else set()
        parts = sorted(doubts | set(self.own_parts()))
        busy = self.sweep(parts)
        self.report_outbox(parts)
        options = self.context.options
        pause = options.sweep if busy or doubts else options.idle_sweep
        self.next_sweep = self.context.effects.monotonic() + pause

    def _free_abandoned(self, busy: Sequence[Entry]) -> None:
        if not busy:
            return
        claimed_by = sorted({entry.session for entry in busy if entry.session})
        found = self.context.store.some_members(self.context.key, claimed_by)
        live = {member.id for member in found if member.live}
        self.free_all([entry for entry in busy if entry.session not in live or self._is_unknown_own(entry)])

    def _is_unknown_own(self, entry: Entry) -> bool:
        """Return whether a claim is stored for this session and not held by it.

        Its request timed out, and was applied.
        """
        session = self.session
        return session is not None and entry.session == session.id and not session.holds(entry.claim)

    def _ring_again(self, rings: Sequence[Ring]) -> None:
        """Ring a second time: the first ring can go to a frozen worker, whose poll was still open."""
        self.context.ring(rings, SECOND_RING_SECONDS)

    def _ring_for_old(self, key: PartKey) -> bool:
        """Ring where a ready job has waited for two sweeps, in case its ring was lost.

        Returns whether the part holds a ready job.
        """
        head = self.context.store.ready(key, 1)
        old = 2 * self.context.options.sweep * SECOND_US
        if head and self.context.effects.now() - head[0].ready_us > old:
            self.context.ring([Ring(key.number)])
        return bool(head)
