"""Adding jobs: each distinct while it is ready, busy or delayed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fanin.errors import StoreUnavailable
from fanin.queue import lifecycle
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.keys import QueueKey, job_key
from fanin.queue.model import Job, JobState, NewJob, OnBusy, Rejected, Rerun, Ring
from fanin.queue.store import QueueStore

ADD_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Producer:
    """Adds to a queue of *parts* parts."""

    store: QueueStore
    doorbell: Doorbell
    queue: QueueKey
    parts: int
    effects: Effects

    def add_all(self, wishes: Iterable[NewJob], on_busy: OnBusy) -> tuple[Rejected, ...]:
        """Add each, in order; the refused ones, those that came twice in *wishes* among them.

        Raises StoreUnavailable where it is unknown what became of some of them; all may be asked again.
        """
        wanted = list(wishes)
        first: dict[str, int] = {}
        for i, wish in enumerate(wanted):
            first.setdefault(wish.key, i)
        now = self.effects.now()
        # One after the other in time as they were in the input: a part is ordered by microseconds.
        placed = self.effects.each(lambda i: self._place(wanted[i], now + i, on_busy), list(first.values()))
        fates = dict(zip(first.values(), placed, strict=True))
        self._announce([wanted[i] for i, state in fates.items() if state is None])
        # One that is not the first of its key was refused by the one that is.
        states = ((wish, fates.get(i, JobState.READY)) for i, wish in enumerate(wanted))
        return tuple(Rejected(wish.key, state) for wish, state in states if state is not None)

    def _place(self, wish: NewJob, now: int, on_busy: OnBusy) -> JobState | None:
        """Store one job: None, or the state of the job that is there already."""
        key, over = job_key(self.queue, self.parts, wish.key), None
        for attempt in range(ADD_ATTEMPTS):
            job = lifecycle.born(wish, key, wish.id or self.effects.new_id(), now, over)
            stored = self._add(job, over)
            if stored is not None and _is_in(job.id, stored) and not stored.expired(now):
                return None
            if stored is not None and stored.is_live:
                if on_busy is OnBusy.REJECT or stored.state is not JobState.BUSY:
                    return self._refuse(stored)
                if self._ask_again(stored, job):
                    return None
                stored = None
            over = stored
            self.effects.pause(attempt)
        raise StoreUnavailable("a key is added from too many sides at once; ask again")

    def _add(self, job: Job, over: Job | None) -> Job | None:
        return self.effects.insist(lambda: self.store.add(job, over))

    def _refuse(self, stored: Job) -> JobState:
        with suppress(StoreUnavailable):
            self.store.collide(stored)
        return stored.state

    def _ask_again(self, busy: Job, wish: Job) -> bool:
        """Have a busy job run once more, with the newest payload; whether it will."""
        rerun = Rerun(wish.id, wish.added_us, wish.priority, wish.payload, wish.item_id)
        seen: Job | None = busy
        for attempt in range(ADD_ATTEMPTS):
            if seen is None or seen.state is not JobState.BUSY:
                return False
            seen = self._rerun(seen, rerun)
            if seen is not None and _is_in(rerun.id, seen):
                return True
            self.effects.pause(attempt)
        return False

    def _rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        return self.effects.insist(lambda: self.store.rerun(seen, rerun))

    def _announce(self, added: Sequence[NewJob]) -> None:
        """Ring once a job, in as few messages as it takes; nothing is lost where it fails, only time."""
        by_delay: dict[int, list[Ring]] = {}
        for wish in added:
            part = job_key(self.queue, self.parts, wish.key).part.number
            by_delay.setdefault(math.ceil(wish.delay), []).append(Ring(part, due=wish.delay > 0))
        with suppress(StoreUnavailable):
            for delay, rings in by_delay.items():
                self.doorbell.ring(rings, delay)


def _is_in(job_id: str, stored: Job) -> bool:
    return stored.id == job_id or (stored.rerun is not None and stored.rerun.id == job_id)
