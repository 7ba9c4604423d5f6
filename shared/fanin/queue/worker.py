"""One process at work on a queue: a session, its claims, and the duties that run beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from fanin.errors import StoreUnavailable
from fanin.queue import session as sessions
from fanin.queue.background import Background, Duty
from fanin.queue.claims import Claims
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.keys import QueueKey
from fanin.queue.maintenance import Janitor, Tell
from fanin.queue.model import Job, Options
from fanin.queue.session import Session
from fanin.queue.store import QueueStore


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker works: one queue, with what it takes from the world."""

    store: QueueStore
    doorbell: Doorbell
    queue: QueueKey
    parts: int
    options: Options
    effects: Effects
    tell: Tell | None = None

    def janitor(self, session: Session | None = None) -> Janitor:
        return Janitor(
            store=self.store,
            doorbell=self.doorbell,
            queue=self.queue,
            parts=self.parts,
            options=self.options,
            effects=self.effects,
            session=session,
            tell=self.tell,
        )

    def claims(self, session: Session) -> Claims:
        return Claims(self.store, self.doorbell, self.queue, self.options, self.effects, session)


@dataclass(frozen=True, slots=True)
class Worker:
    """A session that works."""

    session: Session
    claims: Claims
    janitor: Janitor
    stop: Callable[[], None]

    def take(self, parts: Iterable[int], most: int) -> list[Job]:
        """Claim up to *most* jobs of *parts*; but what was freed here first, and without the others."""
        freed = self.janitor.take_notice(most)
        return self.claims.take_these(freed, most) or self.claims.take(parts, most)

    def leave(self) -> None:
        """Stop the duties, return what is still claimed without counting, and end the session at once."""
        self.stop()
        self.claims.give_back_all(self.session.jobs())
        with suppress(StoreUnavailable):
            self.session.end()


def start(place: Place, background: Background) -> Worker:
    """A worker with a heartbeat, which watches over the others."""
    session = sessions.enter(place.store, place.queue, place.options, place.effects, None)
    janitor = place.janitor(session)
    place.effects.insist(janitor.look)
    every = place.options.heartbeat
    # Looking twice as often as others beat, it misses a dead one half a heartbeat after its expiry.
    stop = background([Duty(session.beat, every), Duty(janitor.tick, every / 2)])
    return Worker(session, place.claims(session), janitor, stop)


def start_bounded(place: Place, seconds: float) -> Worker:
    """A worker for so many seconds, without a heartbeat: what freezes between two calls can have none."""
    session = sessions.enter(place.store, place.queue, place.options, place.effects, seconds)
    return Worker(session, place.claims(session), place.janitor(session), lambda: None)
