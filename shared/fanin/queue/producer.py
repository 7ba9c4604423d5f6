"""Adds jobs: a key has at most one job that is ready, busy or delayed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fanin.errors import StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.doorbell import Doorbell
from fanin.queue.maintenance.sleeping import wake, wake_before
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import JobKey
from fanin.queue.rules.model import Job, JobState, NewJob, OnBusy, Rejected, Rerun, Ring

ADD_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Producer:
    """Adds jobs to the queue of *context*."""

    context: QueueContext

    def add_all(self, requests: Iterable[NewJob], on_busy: OnBusy) -> tuple[Rejected, ...]:
        """Add each job, in order; return the rejected ones, repeated keys in *requests* included.

        Raises StoreUnavailable where the outcome of some adds is unknown; the whole call may be repeated.
        Raises Conflict while the queue is being removed.
        """
        asked = list(requests)
        wake_before(self.context)
        first: dict[str, int] = {}
        for i, request in enumerate(asked):
            first.setdefault(request.key, i)
        effects, now = self.context.effects, self.context.effects.now()
        # A part is ordered by microseconds: each job is added one later than the one before it.
        try:
            outcomes = effects.each(lambda i: self._store(asked[i], now + i, on_busy), list(first.values()))
        except Exception:
            wake(self.context)  # some of the jobs can be stored
            raise
        found = dict(zip(first.values(), outcomes, strict=True))
        self._announce([(asked[i], part) for i, (state, part) in found.items() if state is None])
        wake(self.context)
        refusals = {i: state for i, (state, _) in found.items()}
        # A repeated key is rejected by the first job of that key.
        states = ((request, refusals.get(i, JobState.READY)) for i, request in enumerate(asked))
        return tuple(Rejected(request.key, state) for request, state in states if state is not None)

    def _store(self, request: NewJob, now: int, on_busy: OnBusy) -> tuple[JobState | None, int]:
        """Store one job; return None, or the state of the live job that rejected it, and the part."""
        over, effects = None, self.context.effects
        for attempt in range(ADD_ATTEMPTS):
            rows = self.context.rows(request.key)
            over = over if over is not None and over.key == rows.at else None
            job = lifecycle.new_job(request, rows.at, request.id or effects.new_id(), now, over)
            stored = self._add(job, over, rows.other)
            if stored is not None and stored.answers(job.id, now):
                return None, stored.key.part.number
            if over is not None and _is_later(stored, over):
                raise _lost_trace(over)
            if stored is not None and stored.is_live:
                if on_busy is OnBusy.REJECT or not lifecycle.takes_rerun(stored, job.item_id):
                    return self._refuse(stored), stored.key.part.number
                if self._request_rerun(stored, job):
                    return None, stored.key.part.number
                stored = None
            over = stored
            effects.pause(attempt)
        raise StoreUnavailable(f"job {request.key!r}: too many adds of its key at once; add it again")

    def _add(self, job: Job, over: Job | None, other: JobKey | None) -> Job | None:
        """Store a job; return the one that its key holds then, at either of its parts."""
        check = self.context.check(other)
        if check is not None and check.seen is not None and _decides(check.seen, job):
            return check.seen
        return self.context.effects.answer_of(lambda: self.context.store.add(job, over, check))

    def _refuse(self, stored: Job) -> JobState:
        with suppress(StoreUnavailable):
            self.context.store.collide(stored)
        return stored.state

    def _request_rerun(self, busy: Job, job: Job) -> bool:
        """Request one more run of a busy job, with the newest payload; return whether it is stored.

        It is not if the job has ended, or if a requested rerun has another item.
        """
        rerun = Rerun(job.id, job.added_us, job.priority, job.payload, job.item_id)
        seen: Job | None = busy
        for attempt in range(ADD_ATTEMPTS):
            if seen is None or not lifecycle.takes_rerun(seen, rerun.item_id):
                return False
            before, seen = seen, self._rerun(seen, rerun)
            if seen is not None and seen.answers(rerun.id, rerun.added_us):
                return True
            if _is_later(seen, before):
                raise _lost_trace(before)
            self.context.effects.pause(attempt)
        return False

    def _rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        return self.context.effects.answer_of(lambda: self.context.store.rerun(seen, rerun))

    def _announce(self, added: Sequence[tuple[NewJob, int]]) -> None:
        """Ring once for each job, with one call for each delay; a lost ring costs time and no job."""
        by_delay: dict[int, list[Ring]] = {}
        for request, part in added:
            ring = Ring(part, due=request.delay > 0)
            by_delay.setdefault(math.ceil(request.delay), []).append(ring)

        def announce(bell: Doorbell) -> None:
            for delay, rings in by_delay.items():
                bell.ring(rings, delay)

        with suppress(StoreUnavailable):
            self.context.at_doorbell(announce)


def _is_later(stored: Job | None, seen: Job) -> bool:
    """Return whether the row of the job *seen* has had more than one job since."""
    return stored is not None and stored.key == seen.key and stored.generation > seen.generation + 1


def _lost_trace(stored: Job) -> StoreUnavailable:
    """Return the error of a request that was answered after another job of its key had come and gone.

    A row names its own job and the last ones before it: one before those may have been the requested one.
    """
    return StoreUnavailable(
        f"job {stored.name!r}: other jobs of its key ended in the meantime, so it is unknown whether it ran"
    )


def _decides(seen: Job, job: Job) -> bool:
    """Return whether the job *seen* at its key's other part rejects *job*, or is that job."""
    return seen.is_live or seen.answers(job.id, job.added_us)
