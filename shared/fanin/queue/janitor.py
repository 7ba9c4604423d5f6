"""Frees what dead workers held and wakes what is due: every worker does it for all, and may die over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fanin.errors import StoreUnavailable
from fanin.queue.doorbell import Doorbell, Ring
from fanin.queue.effects import Effects
from fanin.queue.keys import PartKey, QueueKey
from fanin.queue.members import Watch, overdue, owned, owners
from fanin.queue.model import SECOND_US, Entry, GivenBack, JobState, Member, Options, Telling
from fanin.queue.session import Session
from fanin.queue.store import QueueStore

Tell = Callable[[Telling], None]


@dataclass
class Janitor:
    """Looks after *parts* parts of one queue; *session* is the one in whose name it does so, if any."""

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

    def tick(self) -> bool:
        """One round of a long-lived worker; whether its session is still alive."""
        with suppress(StoreUnavailable):
            self.look()
            self.end_the_silent()
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

    def end_the_silent(self) -> None:
        """End every session that has not moved for its expiry, and free its claims."""
        at, now = self.effects.monotonic(), self.effects.now()
        for member in self.watch.suspects(self.members, at, now):
            self._end(member)

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
        found = [entry for key in keys for entry in self.store.outstanding(key, now)]
        busy = [entry for entry in found if entry.state is JobState.BUSY]
        self._free_the_abandoned(busy)
        for entry in found:
            if entry.state is JobState.DELAYED:
                self.promote(entry)
        waiting = [self._ring_for_old(key) for key in keys]
        return bool(found) or any(waiting)

    def promote_due(self, part: int) -> None:
        """Make the delayed jobs of a part ready whose time has come."""
        for entry in self.store.outstanding(PartKey(self.queue, part), self.effects.now()):
            if entry.state is JobState.DELAYED:
                self.promote(entry)

    def promote(self, entry: Entry) -> None:
        if self.store.promote(entry, self.effects.now()):
            self.ring(entry.key.part.number)

    def free(self, entry: Entry) -> None:
        """Return a job whose worker is gone to its place; no failure of the job."""
        if self.store.give_back(entry, GivenBack(self.effects.now())):
            self.ring(entry.key.part.number)

    def ring(self, part: int) -> None:
        with suppress(StoreUnavailable):
            self.doorbell.ring([Ring(part)])

    def tell_the_outside(self) -> None:
        """Tell what was not told when its job ended, because somebody died between the two."""
        if self.tell is None:
            return
        for telling in self.store.tellings(self.queue):
            self.tell(telling)
            self.store.told(self.queue, telling)

    def _end(self, member: Member) -> None:
        """Mark it first, so that it cannot come back; then free, then forget: any step may be the last."""
        if self.store.end_session(self.queue, member.id, member.heartbeats):
            for part in range(self.parts):
                for entry in self.store.claims_of(PartKey(self.queue, part), member.id):
                    self.free(entry)
            self.store.forget(self.queue, member.id)

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
        for entry in busy:
            if entry.session not in live or self._is_mine_unknown(entry):
                self.free(entry)

    def _is_mine_unknown(self, entry: Entry) -> bool:
        """A claim of this session that it does not hold: the request had no answer, and arrived."""
        mine = self.session is not None and entry.session == self.session.id
        return mine and self.session is not None and not self.session.holds(entry.claim)

    def _ring_for_old(self, key: PartKey) -> bool:
        """Ring for work whose ring was lost; whether any work waits."""
        head = self.store.ready(key, 1)
        old = 2 * self.options.sweep * SECOND_US
        if head and self.effects.now() - head[0].ready_us > old:
            self.ring(key.number)
        return bool(head)
