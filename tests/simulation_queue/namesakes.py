"""Jobs of one id: in one queue and in two, some of them dead, and again once the marks of the first expired.

The ids are the producers'. Marks go as the table's time to live has it: soon, late or never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from unittest.mock import patch

from fanin.queue import Dead, NewJob, Queue, QueueKey, model
from fanin.queue.keys import JobKey, job_key
from tests.simulating.expiry import TimeToLive
from tests.simulating.faults import LATE, STALLED
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.network import WALL, Bell
from tests.simulation_queue.world import QUEUE, World

OTHER = QueueKey("t", "other")
OF_OTHER = " of the other"
# Longer than a late copy is under way, and than all that a worker can be frozen in the middle of an end.
MARK_SECONDS = 70
RETURNS = 6


class Namesakes(World):
    """*names_of*: the names that an id was given to, of either queue, and when it was given last."""

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.other = Bell(self.loop, random, self.bell.loss)
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
        """Requests that find the job of their key once more in the state in which they were made."""
        self.plan.kinds, self.plan.rate, self.plan.left = {LATE, STALLED}, 0.3, 60
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

    def _home(self, process: Process) -> tuple[QueueKey, Bell]:
        return (OTHER, self.other) if OF_OTHER in process.name else (QUEUE, self.bell)

    def _wish(self, of: QueueKey) -> NewJob:
        """A job whose id other keys may have; no other job of its own key has had it."""
        wish = replace(super()._wish(of), item_id=f"item {self.names}")
        wish = replace(wish, key=f"{of.name} {wish.key}")
        job_id = f"id {self.random.randrange(self.ids)} of {self.names // 8}"
        if (of, wish.key, job_id) in self.used:
            return wish
        self.used.add((of, wish.key, job_id))
        return replace(wish, id=job_id)

    def _revive(self, queue: Queue, dead: Dead) -> None:
        super()._revive(queue, dead)
        if self.random.random() < 0.5:
            super()._revive(queue, dead)

    def _come_again(self) -> None:
        """Add what was done, under the same id: before its mark has expired, and after."""
        queue = self._queue(self.loop.actor.process)
        try:
            for _ in range(RETURNS):
                self.loop.sleep(int(self.random.uniform(10, 30) * SECOND))
                for of, name, job_id in sorted(self.used, key=str):
                    if of == queue.key:
                        self._add_again(queue, name, job_id)
        finally:
            self.producing -= 1

    def _add_again(self, queue: Queue, name: str, job_id: str) -> None:
        """A repeated add, which adds nothing as the referee knows; a new one, where it is late enough."""
        key = job_key(QUEUE, self.parts, name)
        life = self.referee.lives.get((key, job_id))
        if life is None or not life.ended or life.died or life.superseded:
            return
        self.names += 1
        wish = NewJob(name, f"call {self.names}", id=job_id)
        age = (self.loop.at - life.ended_at) / SECOND
        if age > MARK_SECONDS + 5:
            self._judge_add(queue, [wish], "reject")
            self.events["came again"] += 1
        elif age < MARK_SECONDS - 30 and self._is_marked(key, job_id):
            queue.add(wish)
            self.events["repeated adds"] += 1

    def _is_marked(self, key: JobKey, job_id: str) -> bool:
        """Whether the mark is the job's own, and nobody can put another in its place."""
        stored = self.memory.stored.get(key)
        graves = self.memory.dead_jobs.get(QUEUE, {}).values()
        alone = self.producing == 1 and not any(dead.job.key == key for dead in graves)
        return alone and stored is not None and stored.id == job_id

    def _let_expire(self) -> None:
        stored = self.memory.stored
        done = {key: job.done_us for key, job in stored.items() if job.done_us is not None}
        rows = {key: (at - WALL) / SECOND + MARK_SECONDS for key, at in done.items()}
        for key in self.table.due(rows, self.loop.at / SECOND):
            del stored[key]
