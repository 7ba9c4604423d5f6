"""The claims of one session, on a queue whose requests, pauses and rings are noted."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanin.queue import Effects, NewJob, Options, QueueContext
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.model import OnBusy
from fanin.queue.worker.claims import Claims
from fanin.queue.worker.producer import Producer
from fanin.queue.worker.session import enter
from tests.queue.conftest import KEY, Time
from tests.scripted import Scripted


@dataclass
class Bell:
    """A doorbell that notes its rings."""

    rung: list[tuple[int, bool, float]] = field(default_factory=list)

    def at(self, _):
        return self

    def ring(self, rings, delay=0.0):
        self.rung += [(ring.part, ring.due, delay) for ring in rings]


class Bench:
    """The claims of one session on a queue of one part, whose store notes its requests."""

    def __init__(self, **options):
        ids = iter(range(10**6))
        self.time, self.bell, self.store, self.pauses = Time(), Bell(), Scripted(MemoryStore()), []
        effects = Effects(
            now=self.time.now,
            monotonic=self.time.monotonic,
            new_id=lambda: f"{next(ids):06d}",
            pause=self.pauses.append,
            each=lambda call, values: [call(value) for value in values],
        )
        facts = {"parts": 1} | options
        self.context = QueueContext(self.store, self.bell, KEY, Options(**facts), effects)
        self.session = enter(self.context, None)
        self.claims = Claims(self.context, self.session)

    def add(self, *jobs, **facts):
        Producer(self.context).add_all([NewJob(job, **facts) for job in jobs], OnBusy.RERUN)
        self.forget()

    def take(self, *jobs):
        """Add and claim *jobs*."""
        self.add(*jobs)
        taken = self.claims.take([0], len(jobs))
        self.forget()
        return taken

    def forget(self):
        self.store.made.clear()
        self.bell.rung.clear()
        self.pauses.clear()

    def stored(self, job):
        return self.store.real.get(job.key)
