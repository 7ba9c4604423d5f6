"""Frees the claims of dead sessions, promotes due jobs and reports outbox entries.

Every worker does it for the whole queue; each step may be the last one before a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from fanin.errors import NewerSchema, StoreUnavailable
from fanin.queue.administration.part_reads import look
from fanin.queue.context import QueueContext
from fanin.queue.rules import part_owners as rules
from fanin.queue.rules.model import SECOND_US, Entry, GivenBack, JobState, Member, PartLook, Ring
from fanin.queue.rules.part_owners import CROWD, Watch, overdue, owned, owners
from fanin.queue.sessions.session import Session
from fanin.user_functions import finished, log_failure


@dataclass
class SessionWatch:
    """The sessions as *me* knows them; *me* is the id of a session, or None in the scheduled sweep.

    *members*: as read last. *changes*: the count of changes before that. *alarmed_until*: until when all
    sessions are read at each look, because a neighbour misses heartbeats. Times are seconds of the monotonic
    clock.
    """

    context: QueueContext
    me: str | None = None
    watch: Watch = field(default_factory=Watch)
    members: Sequence[Member] = ()
    changes: int = 0
    read_at: float = 0.0
    config_at: float = 0.0
    alarmed_until: float = 0.0
    is_stale: bool = False

    def read_all(self) -> Sequence[Member]:
        """Read all sessions, consistently, and return them."""
        store, queue, at = self.context.store, self.context.key, self._now()
        if self.me is not None:  # before the sessions: a change after it is seen later
            _, self.changes = store.peek_config(queue)
        self.members = store.members(queue)
        self.watch.observe(self.members, at)
        self.read_at, self.is_stale = at, False
        return self.members

    def look(self) -> Sequence[Member]:
        """Read the sessions that are due, and return those that were read."""
        self._peek_config()
        at = self._now()
        if self._reads_all(at):
            return self.read_all()
        ids = None if len(self.members) <= CROWD else rules.neighbours(owners(self.members), self.me or "")
        seen = self.context.store.peek(self.context.key, ids)
        self.watch.note(seen, at)
        self._alarm(seen, at)
        expected = owners(self.members) if ids is None else ids
        self.is_stale = self.is_stale or sorted(owners(seen)) != sorted(expected)
        return self.read_all() if self._reads_all(at) else seen

    def expired(self, members: Sequence[Member]) -> list[Member]:
        """Return those of *members* that are to be ended."""
        return self.watch.suspects(members, self._now(), self.context.effects.now())

    def _alarm(self, seen: Sequence[Member], at: float) -> None:
        """Where a neighbour misses heartbeats for half its expiry, read all at each look for one expiry.

        The sessions that watch others may have crashed with it: from now on this worker watches them too.
        """
        if any(self.watch.misses_heartbeats(member, at) for member in seen):
            self.alarmed_until = at + self.context.options.expiry

    def _reads_all(self, at: float) -> bool:
        """Return whether all sessions are to be read at *at*."""
        sessions, passed = len(self.members), at - self.read_at
        is_crowd = sessions > CROWD
        if self.is_stale and passed >= rules.change_seconds(sessions):
            return True
        return is_crowd and (at < self.alarmed_until or passed >= rules.look_seconds(sessions))

    def _peek_config(self) -> None:
        """Once a heartbeat, look for changes of the sessions and of the config."""
        at = self._now()
        if at - self.config_at < self.context.options.heartbeat * 0.9:
            return
        revision, changes = self.context.store.peek_config(self.context.key)
        self.config_at = at
        self.is_stale = self.is_stale or changes > self.changes
        self.context.refresh(revision)

    def _now(self) -> float:
        return self.context.effects.monotonic()


logger = logging.getLogger("fanin")

SECOND_RING_SECONDS = 1.0


@dataclass
class Maintenance:
    """Maintains the queue of *context*; *session* is the one of this worker, None in the scheduled sweep.

    *freed*: the jobs whose claims it freed and its worker has not taken yet, each with the time at which it
    was freed, in seconds of the monotonic clock, because a wall clock can be set. *newer*: the error that
    ended the maintenance, because a newer release has written a row of the queue.
    """

    context: QueueContext
    session: Session | None = None
    next_sweep: float = 0.0
    freed: list[tuple[float, Entry]] = field(default_factory=list)
    newer: NewerSchema | None = None
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    watching: SessionWatch = field(init=False)

    def __post_init__(self) -> None:
        self.watching = SessionWatch(self.context, self.session.id if self.session else None)

    def tick(self) -> bool:
        """Run one round of a long-lived worker; return whether its session is alive and reads all rows."""
        try:
            with suppress(StoreUnavailable):
                self._round()
        except NewerSchema as error:
            line = "the maintenance of queue %s ends, and this worker takes no more jobs"
            log_failure(logger, line, self.context.key, error=error)
            self.newer = error
            return False
        return self.session is not None and self.session.alive()

    def _round(self) -> None:
        seen = self.watching.look()
        if self.context.known() is None:
            return  # the queue was removed while this process stood still
        if self.end_expired(seen):
            self.read_members()  # the parts of the ended sessions are shared anew
        if self.context.effects.monotonic() >= self.next_sweep:
            self._sweep_own()

    def sweep_queue(self, parts: int) -> tuple[list[PartLook], bool]:
        """Run the scheduled sweep: end overdue sessions, free, promote, ring, and report the outbox.

        Returns what the parts held before, and whether the outbox had entries.
        """
        looks: list[PartLook] = []
        reported: list[bool] = []
        _in_steps(
            self.read_members,
            self.end_overdue,
            lambda: looks.extend(self.sweep(range(parts))),
            # The outbox is read last: the end of a job moves it from its part to the outbox.
            lambda: reported.append(self.report_outbox(range(parts))),
        )
        return looks, any(reported)

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

    def sweep(self, parts: Iterable[int]) -> list[PartLook]:
        """Free the claims of ended sessions and promote due jobs; return what the parts held before."""
        # The claims are read before the sessions: a session is stored before it claims.
        looks = look(self.context, [self.context.part(part) for part in parts])
        found = [entry for each in looks for entry in each.outstanding]
        _in_steps(
            lambda: self._free_abandoned([entry for entry in found if entry.state is JobState.BUSY]),
            lambda: self._promote_all(entry for entry in found if entry.state is JobState.DELAYED),
            lambda: self.context.effects.each(self._ring_for_old, [each.head for each in looks]),
        )
        return looks

    def _promote_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._alone(self.promote, entry)

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
            self.context.effects.each(partial(self._alone, self.free), entries)
        finally:
            self.context.ring(rings)
            self._ring_again(rings)

    def free(self, entry: Entry) -> None:
        """Return one job to its position, and note it for the next take of this worker.

        The worker that frees a claim takes the job itself, whichever session owns the part: the owner can
        have crashed too, and not be missed yet.
        """
        release, at = GivenBack(self.context.effects.now()), self.context.effects.monotonic()
        if self.context.store.give_back(entry, release):
            with self.lock:
                self.freed.append((at, replace(entry, state=JobState.READY, ready_us=release.at)))

    def pop_freed(self, most: int) -> list[Entry]:
        """Remove and return up to *most* of the freed jobs, those that were claimed first before the others.

        Jobs freed longer ago than two expiries are dropped: by then each part belongs to a live session.
        """
        late = self.context.effects.monotonic() - 2 * self.context.options.expiry
        with self.lock:
            fresh = [(at, entry) for at, entry in self.freed if at > late]
            fresh.sort(key=lambda each: each[1].claimed_us or 0)
            self.freed = fresh[most:]
        return [entry for _, entry in fresh[:most]]

    def report_outbox(self, parts: Iterable[int]) -> bool:
        """Report and delete the outbox entries of *parts*; return whether there was any.

        One that cannot be reported stays for the next run.
        """
        report, store, queue = self.context.report, self.context.store, self.context.key
        keys = [self.context.part(part) for part in parts]
        found = [entry for some in self.context.effects.each(store.outbox, keys) for entry in some]
        if report is None:
            return bool(found)
        for entry in found:
            try:
                finished(report(entry), "report")
            except StoreUnavailable:
                raise
            except Exception as error:  # one entry must not keep the others from being reported
                log_failure(logger, "the end of job %s cannot be reported", entry.job_id, error=error)
            else:
                store.delete_outbox_entry(queue, entry)
        return bool(found)

    def _alone(self, change: Callable[[Entry], None], entry: Entry) -> None:
        """Call *change* with one job; a job that cannot be read is logged, and the sweep goes on."""
        try:
            change(entry)
        except StoreUnavailable:
            raise
        except Exception as error:  # one row must not keep the other jobs from their next run
            log_failure(logger, "job %s is left for the next sweep", entry.job_id, error=error)

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
        looks = self.sweep(parts)
        busy = any(each.in_use for each in looks)
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

    def _ring_for_old(self, head: Entry | None) -> None:
        """Ring where a ready job has waited for two sweeps, in case its ring was lost."""
        old = 2 * self.context.options.sweep * SECOND_US
        if head and self.context.effects.now() - head.ready_us > old:
            self.context.ring([Ring(head.key.part.number)])


def _in_steps(*steps: Callable[[], object]) -> None:
    """Run each step although one before it failed, then raise the first error.

    StoreUnavailable is raised at once: the later steps would meet it too.
    """
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except StoreUnavailable:
            raise
        except Exception as error:  # rows that one step cannot read must not keep the others waiting
            errors.append(error)
    if errors:
        raise errors[0]
