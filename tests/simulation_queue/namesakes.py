"""Jobs of one id: in one queue and in two, some of them dead, and again once those marks have expired.

The producers choose the ids. Time to live deletes marks early, late or never.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from unittest.mock import patch

from fanin.errors import StoreUnavailable
from fanin.queue import Dead, Job, NewJob, Queue, QueueKey
from fanin.queue.rules import model
from fanin.queue.rules.keys import JobKey, job_key
from tests.item_ids import item_named
from tests.simulating.expiry import TimeToLive
from tests.simulating.faults import LATE, STALLED
from tests.simulation_queue.bell import Bell
from tests.simulation_queue.loop import SECOND, WALL, Process
from tests.simulation_queue.referee import name_of
from tests.simulation_queue.world import QUEUE, World

OTHER = QueueKey("t", "other")
OF_OTHER = " of the other"
# Longer than a late copy is under way, and than all that a worker can be frozen in the middle of an end.
MARK_SECONDS = 70
RETURNS = 6

FEW = 2
"""Jobs of a key that certainly leave the one before them known."""


class Namesakes(World):
    """*names_of*: the names that an id was given to, of either queue, and when it was given last."""

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.plan.skew = min(self.plan.skew, self.plan.later)
        self.other = Bell(self.loop, self.network, random, self.bell.loss)
        self.bells.append(self.other)
        self.max_failures = random.choice((1, 2))
        self.boom = random.choice((0.3, 0.6))
        self.longest = 0.5
        self.ids = random.choice((1, 2, 4))
        self.used: set[tuple[QueueKey, str, str]] = set()
        if random.random() < 0.5:
            self._have_copies_come_late()
        self.table = TimeToLive.draw(random, ahead=1.0, late=60.0)

    def _have_copies_come_late(self) -> None:
        """Choose faults by which delayed copies find the job of their key in the same state again."""
        self.plan.kinds, self.plan.rate, self.plan.remaining = {LATE, STALLED}, 0.3, 60
        self.keys, self.reruns, self.max_failures, self.boom = 1, 0.8, 1, 0.6
        self.longest = 3.0

    def run(self) -> None:
        with patch.object(model, "MARK_SECONDS", MARK_SECONDS):
            super().run()
        self.events["marks deleted"] += self.table.deleted

    def _begin(self) -> None:
        for suffix in ("", OF_OTHER):
            self._produce(f"producer{suffix}")
            self._work(self._process(f"worker{suffix}"), after=0)
            if self.random.random() < 0.3:
                self._pass_by(self._process(f"function{suffix}"))
        self.producing += 1
        self.loop.begin(self._process("returning"), self._come_again)

    def _queue_of(self, process: Process) -> tuple[QueueKey, Bell]:
        return (OTHER, self.other) if OF_OTHER in process.name else (QUEUE, self.bell)

    def _new_job(self, of: QueueKey) -> NewJob:
        """Return a job whose id other keys can have; no other job of its own key has had it."""
        request = super()._new_job(of)
        request = replace(request, item_id=item_named(self.names) if self.names % 3 else None)
        request = replace(request, key=f"{of.name} {request.key}")
        job_id = f"id {self.random.randrange(self.ids)} of {self.names // 8}"
        if (of, request.key, job_id) in self.used:
            return request
        self.used.add((of, request.key, job_id))
        return replace(request, id=job_id)

    def _revive(self, queue: Queue, dead: Dead) -> None:
        super()._revive(queue, dead)
        if self.random.random() < 0.5:
            super()._revive(queue, dead)

    def _come_again(self) -> None:
        """Add done jobs again under the same id: before their marks have expired, and after."""
        queue = self._queue(self.loop.actor.process)
        try:
            for _ in range(RETURNS):
                self.loop.sleep(int(self.random.uniform(10, 30) * SECOND))
                for of, name, job_id in sorted(self.used, key=str):
                    if of == queue.key:
                        with suppress(StoreUnavailable):
                            self._add_again(queue, name, job_id)
        finally:
            self.producing -= 1

    def _add_again(self, queue: Queue, name: str, job_id: str) -> None:
        """Repeat an add, which must add nothing; or add anew, once the mark has expired."""
        key = job_key(QUEUE, self.parts, name)
        record = self.referee.records.get(name_of(key, job_id))
        if record is None or record.died or not (record.ended or record.superseded):
            return
        self.names += 1
        request = NewJob(name, f"call {self.names}", id=job_id)
        age = (self.loop.at - record.ended_at) / SECOND
        if age > MARK_SECONDS + 5:
            self._judge_add(queue, [request], "reject")
            self.events["came again"] += 1
        elif age < MARK_SECONDS - 30 and self._is_marked(key, job_id):
            queue.add(request)
            self.events["repeated adds"] += 1

    def _is_marked(self, key: JobKey, job_id: str) -> bool:
        """Return whether the row has the job or was to name it, and no other add can replace it."""
        stored = self.memory.stored.get(key)
        dead_jobs = self.memory.dead_jobs.get(QUEUE, {}).values()
        alone = self.producing == 1 and not any(dead.job.key == key for dead in dead_jobs)
        if not alone or stored is None:
            return False
        replaced, generation = self.referee.replaced.get(key, ("", 0))
        return stored.id == job_id or (replaced == job_id and stored.generation <= generation + FEW)

    def _let_expire(self) -> None:
        super()._let_expire()
        expire_marks(self.memory.stored, self.table, self.loop.at, MARK_SECONDS)


def expire_marks(stored: dict[JobKey, Job], table: TimeToLive, at: int, seconds: float) -> None:
    """Delete the marks that time to live has deleted by *at*; they hold for *seconds*."""
    done_at = {key: job.done_us for key, job in stored.items() if job.done_us is not None}
    rows = {key: (since - WALL) / SECOND + seconds for key, since in done_at.items()}
    for key in table.due(rows, at / SECOND):
        del stored[key]
