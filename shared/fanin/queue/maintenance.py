"""Frees what dead workers held and wakes what is due: every worker does it for all, and may die over it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from fanin.calling import done, log_failure
from fanin.errors import StoreUnavailable
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.keys import PartKey, QueueKey
from fanin.queue.members import Watch, overdue, owned, owners
from fanin.queue.model import SECOND_US, Entry, GivenBack, JobState, Member, Options, Ring, Telling
from fanin.queue.session import Session
from fanin.queue.store import QueueStore

logger = logging.getLogger("fanin")

Tell = Callable[[Telling], None]
SECOND_RING_SECONDS = 1.0


@dataclass
class Janitor:
    """Looks after *parts* parts of one queue; *session* is the one in whose name it does so, if any.

    *freed*: the jobs whose claims it freed lately, as they are since, until its worker takes notice.
    """

    store: QueueStore
    doorbell: Doorbell
    queue: QueueKey
    parts: int
    options: Options
    effects: Effects
    session: Session | None = None
    tell: Tell | None = None
    watch: Watch = field(default_factory=Watch)
    members: Sequence[Member] = ()
    next_sweep: float = 0.0
    freed: list[Entry] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def tick(self) -> bool:
        """One round of a long-lived worker; whether its session is still alive."""
        with suppress(StoreUnavailable):
            self.look()
            if self.end_the_silent():
                self.look()  # the parts of those that are gone are shared anew
            if self.effects.monotonic() >= self.next_sweep:
                self._sweep_mine()
        return self.session is not None and self.session.alive()

    def look(self) -> None:
        """Learn who is there, and so which parts are whose."""
        self.members = self.store.members(self.queue)
        self.watch.observe(self.members, self.effects.monotonic())

    def own_parts(self) -> range:
        """The parts of this session, as the members were seen last; all of them for one who does not stay."""
        if self.session is None or not self.session.member.beats:
            return range(self.parts)
        return owned(self.parts, owners(self.members), self.session.id)

    def end_the_silent(self) -> bool:
        """End every session that has not moved for its expiry, and free its claims; whether there was one."""
        at, now = self.effects.monotonic(), self.effects.now()
        silent = self.watch.suspects(self.members, at, now)
        for member in silent:
            self._end(member)
        return bool(silent)

    def end_the_overdue(self) -> None:
        """The same by the clock, for one who does not stay to watch."""
        for member in self.members:
            if overdue(member, self.effects.now()):
                self._end(member)

    def sweep(self, parts: Iterable[int]) -> bool:
        """Free the claims of sessions that are gone, promote what is due; whether there was any such work."""
        keys = [PartKey(self.queue, part) for part in parts]
        now = self.effects.now()
        # The claims are read before the sessions: a session is stored before it claims.
        outstanding = self.effects.each(lambda key: self.store.outstanding(key, now), keys)
        found = [entry for entries in outstanding for entry in entries]
        busy = [entry for entry in found if entry.state is JobState.BUSY]
        self._free_the_abandoned(busy)
        for entry in found:
            if entry.state is JobState.DELAYED:
                self.promote(entry)
        waiting = self.effects.each(self._ring_for_old, keys)
        return bool(found) or any(waiting)

    def promote_due(self, part: int) -> None:
        """Make the delayed jobs of a part ready whose time has come."""
        for entry in self.store.outstanding(PartKey(self.queue, part), self.effects.now()):
            if entry.state is JobState.DELAYED:
                self.promote(entry)

    def promote(self, entry: Entry) -> None:
        if self.store.promote(entry, self.effects.now()):
            self.ring([Ring(entry.key.part.number)])

    def free_all(self, entries: Sequence[Entry]) -> None:
        """Return jobs whose worker is gone to their places; no failures of theirs."""
        rings = [Ring(entry.key.part.number) for entry in entries]
        try:
            self.effects.each(self.free, entries)
        finally:
            self.ring(rings)
            # The first ring may go to a worker that froze while it listened; it listens no second time.
            self.ring(rings, SECOND_RING_SECONDS)

    def free(self, entry: Entry) -> None:
        """Return one of them.

        Its part may fall to a worker that is silent, too, and is not missed yet. So whoever frees a claim
        takes the job himself at his next take, whosever the part is, unless somebody has it by then.
        """
        how = GivenBack(self.effects.now())
        if self.store.give_back(entry, how):
            with self.lock:
                self.freed.append(replace(entry, state=JobState.READY, ready_us=how.at))

    def take_notice(self, most: int) -> list[Entry]:
        """Up to *most* of the jobs that were freed here, those first that were claimed first; each once.

        After two expiries whoever was silent is gone, and the parts are in good hands.
        """
        late = self.effects.now() - round(2 * self.options.expiry * SECOND_US)
        with self.lock:
            fresh = [entry for entry in self.freed if entry.ready_us > late]
            fresh.sort(key=lambda entry: entry.claimed_us or 0)
            self.freed = fresh[most:]
        return fresh[:most]

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        with suppress(StoreUnavailable):
            self.doorbell.ring(rings, delay)

    def tell_the_outside(self) -> None:
        """Tell what was not told when its job ended; what is refused stays for the next time."""
        if self.tell is None:
            return
        for telling in self.store.tellings(self.queue):
            try:
                done(self.tell(telling), "tell")
            except StoreUnavailable:
                raise
            except Exception as error:  # the others are to be told nevertheless
                log_failure(logger, "the end of job %s cannot be told", telling.job_id, error=error)
            else:
                self.store.told(self.queue, telling)

    def _end(self, member: Member) -> None:
        """Mark it first, so that it cannot come back; then free, then forget: any step may be the last."""
        if self.store.end_session(self.queue, member.id, member.heartbeats):
            self.free_all(self._claims_of(member))
            self.store.forget(self.queue, member.id)

    def _claims_of(self, member: Member) -> list[Entry]:
        """What a session holds, asked of several parts at once: those who wait for it wait for all parts."""
        keys = [PartKey(self.queue, part) for part in range(self.parts)]
        found = self.effects.each(lambda key: self.store.claims_of(key, member.id), keys)
        return [entry for entries in found for entry in entries]

    def _sweep_mine(self) -> None:
        session = self.session
        doubts = session.doubts() if session else set()
        busy = self.sweep(sorted(doubts | set(self.own_parts())))
        self.tell_the_outside()
        pause = self.options.sweep if busy or doubts else self.options.idle_sweep
        self.next_sweep = self.effects.monotonic() + pause

    def _free_the_abandoned(self, busy: Sequence[Entry]) -> None:
        if not busy:
            return
        live = {member.id for member in self.store.members(self.queue) if member.live}
        gone = [entry for entry in busy if entry.session not in live or self._is_mine_unknown(entry)]
        self.free_all(gone)

    def _is_mine_unknown(self, entry: Entry) -> bool:
        """A claim of this session that it does not hold: the request had no answer, and arrived."""
        mine = self.session is not None and entry.session == self.session.id
        return mine and self.session is not None and not self.session.holds(entry.claim)

    def _ring_for_old(self, key: PartKey) -> bool:
        """Ring for work whose ring was lost; whether any work waits."""
        head = self.store.ready(key, 1)
        old = 2 * self.options.sweep * SECOND_US
        if head and self.effects.now() - head[0].ready_us > old:
            self.ring([Ring(key.number)])
        return bool(head)
