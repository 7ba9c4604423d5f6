"""One process at work on a queue: a session, its claims, and the duties that run in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from fanin.errors import NewerSchema, StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.rules.model import Job
from fanin.queue.sessions import session as sessions
from fanin.queue.sessions.background import Background, Duty
from fanin.queue.sessions.claims import Claims
from fanin.queue.sessions.session import Session


@dataclass(frozen=True, slots=True)
class Worker:
    """A session with its claims and its maintenance; *stop* ends its duties."""

    session: Session
    claims: Claims
    maintenance: Maintenance
    stop: Callable[[], None]

    def take(self, parts: Iterable[int], most: int) -> list[Job]:
        """Claim up to *most* jobs that this worker freed; where it has none, jobs of *parts*.

        Raises NewerSchema once a newer release has written rows that the maintenance of this worker reads.
        """
        if self.maintenance.newer is not None:
            raise self.maintenance.newer
        freed = self.maintenance.pop_freed(most)
        return self.claims.take_these(freed, most) or self.claims.take(parts, most)

    def leave(self) -> None:
        """Stop the duties, return the claimed jobs without counting failures, and end the session."""
        self.stop()
        self.claims.give_back_all(self.session.jobs())
        with suppress(NewerSchema, StoreUnavailable):
            self.session.end()


def start(context: QueueContext, background: Background) -> Worker:
    """Return a worker with a heartbeat, which maintains the queue."""
    session = sessions.enter(context, None)
    maintenance = Maintenance(context, session)
    context.effects.answer_of(maintenance.read_members)
    every = context.options.heartbeat
    # Two looks in each heartbeat: a dead session is found half a heartbeat after its expiry at the latest.
    stop = background([Duty(session.beat, every), Duty(maintenance.tick, every / 2)])
    return Worker(session, Claims(context, session), maintenance, stop)


def start_bounded(context: QueueContext, seconds: float) -> Worker:
    """Return a worker for *seconds*, without a heartbeat: a function is frozen between invocations."""
    session = sessions.enter(context, seconds)  # reads the config: the known one may be from before a pause
    return Worker(session, Claims(context, session), Maintenance(context, session), lambda: None)
