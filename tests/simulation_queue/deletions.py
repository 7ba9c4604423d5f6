"""Jobs and dead jobs are deleted while others add and take them; in half of the runs the queue is removed.

The removal is forced, and the next add creates the queue again. A removal settles by the clock, so that the
processes of those runs are prompt, and the times of the protocol short.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from random import Random
from unittest.mock import patch

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue import Queue, config_cache
from fanin.queue.administration import removing
from fanin.queue.administration.changing import Deletion, delete_dead, delete_jobs
from fanin.queue.administration.paging import dead
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import existing
from fanin.queue.rules.model import JobState
from tests.simulating.faults import LATE, STALLED, Fault
from tests.simulating.violation import require
from tests.simulation_queue import network
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.network import Network
from tests.simulation_queue.world import QUEUE, World

CONFIG_SECONDS, LATEST_SECONDS, FREEZE_SECONDS = 4.0, 4, 3
SETTLE_SECONDS = 18.0
"""More than a config's age, one freeze, a late copy, the skew of two clocks, and the pauses of retries."""
SCALES = ((config_cache, "CONFIG_SECONDS", CONFIG_SECONDS), (network, "LATEST", LATEST_SECONDS * SECOND))
DELETERS_UNTIL = 60 * SECOND


class Deletions(World):
    """*removes*: whether the queue is removed, too. *copied*: the share of deletions that land late, too.

    *removing_at*: when a removal was last under way.
    """

    expected = (*World.expected, Conflict)
    trace_seconds = 12.0

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.removes = random.random() < 0.5
        self.keys, self.max_failures = random.choice((1, 2, 4)), random.choice((None, 1, 2))
        self.longest, self.boom = random.choice((0.0, 0.5, 3.0)), random.choice((0.1, 0.4))
        self.copied = random.choice((0.0, 0.4))
        self.network.fault = self._fault  # type: ignore[method-assign]
        self.producers = random.choice((1, 2, 3))
        self.removing_at = -1
        if self.removes:
            self.plan.skew = min(self.plan.skew, self.plan.later)
            self.plan.freezes = min(self.plan.freezes, 1)
            self.plan.freeze = self._freeze  # type: ignore[method-assign]

    def run(self) -> None:
        with ExitStack() as stack:
            for owner, name, value in SCALES if self.removes else ():
                stack.enter_context(patch.object(owner, name, value))
            stack.enter_context(patch.object(self.referee, "may_remove", lambda payload: self.removes))
            super().run()

    def _fault(self, name: str) -> Fault | None:
        if name == "delete" and self.loop.at <= self.plan.calm and self.random.random() < self.copied:
            return self.random.choice((LATE, STALLED))
        return Network.fault(self.network, name)

    def _freeze(self, now: int) -> int:
        return min(type(self.plan).freeze(self.plan, now), FREEZE_SECONDS * SECOND)

    def _begin(self) -> None:
        super()._begin()
        for _ in range(self.producers):
            self._produce()
        for _ in range(self.random.choice((1, 2))):
            self._keep_on("deleter", self._delete_often)
        if self.removes:
            self._keep_on("operator", self._remove_some_times)
            self._keep_on("sweep", self._sweep_often)

    def _keep_on(self, name: str, run: Callable[[Queue], None], after: int = 0) -> None:
        """Run a process; one that crashes has a successor."""
        process = self._process(name)
        self.loop.begin(process, partial(self._live, process, name, run), after)

    def _live(self, process: Process, name: str, run: Callable[[Queue], None]) -> None:
        try:
            run(self._queue(process))
        finally:
            if process.dead:
                self._keep_on(name, run, SECOND)

    def _delete_often(self, queue: Queue) -> None:
        while self.loop.at < DELETERS_UNTIL:
            pause = int(self.random.random() ** 2 * 2 * SECOND)
            self.loop.sleep(pause)
            self.loop.sleep(pause, lambda: bool(self._waiting()))
            with suppress(StoreUnavailable, Conflict):
                if self.random.random() < 0.8:
                    self._delete(queue)
                else:
                    self._delete_dead(queue)

    def _delete(self, queue: Queue) -> None:
        """Delete some jobs; a job that waited all the while is deleted, and what is called so was."""
        names = [f"k{number}" for number in range(self.keys) if self.random.random() < 0.6] or ["k0"]
        began, waited = self.loop.at, self._waiting()
        outcomes = delete_jobs(queue.context, names)
        now = self._waiting()
        for name, outcome in outcomes.items():
            self.events[f"job {outcome.value}"] += 1
            was = any(at >= began and deleted == name for at, deleted in self.referee.deleted)
            if outcome is Deletion.DELETED:
                require(was, "Q2", lambda name=name: f"{name} was called deleted, and it was not")
            elif name in waited:
                stays = now.get(name) == waited[name]
                require(not stays, "Q2", lambda name=name, out=outcome: f"{name} waits, and was called {out}")

    def _waiting(self) -> dict[str, tuple[str, int, int]]:
        """Return the jobs that wait, by key: their id, generation and deliveries."""
        waits = (JobState.READY, JobState.DELAYED)
        jobs = (job for job in self.memory.stored.values() if job.state in waits)
        return {job.name: (job.id, job.generation, job.deliveries) for job in jobs}

    def _delete_dead(self, queue: Queue) -> None:
        found = dead(queue.context, 10, None)
        records = [(row.number, row.key.sort) for row, _ in found.jobs if self.random.random() < 0.5]
        for outcome in delete_dead(queue.context, records).values():
            self.events[f"dead job {outcome.value}"] += 1

    # Removal

    def _is_over(self) -> bool:
        """A removal that has begun ends first."""
        config = self.memory.configs.get(QUEUE)
        removed = config is None or config.removing_us is None or config.removed_us is not None
        return removed and super()._is_over()

    def _remove_some_times(self, queue: Queue) -> None:
        for _ in range(self.random.choice((1, 2))):
            self.loop.sleep(int(self.random.uniform(1, 20) * SECOND))
            with suppress(Conflict, NotFound, StoreUnavailable):
                removing.begin(queue.context, force=True)
                self.events["removals"] += 1

    def _sweep_often(self, queue: Queue) -> None:
        while True:
            self.loop.sleep(int(self.random.uniform(0.5, 4) * SECOND))
            config = self.memory.configs.get(QUEUE)
            if config is not None and config.removed_us is None:
                with suppress(StoreUnavailable, Conflict):
                    visit(queue.context, settle=SETTLE_SECONDS)
                self.events["removed"] += existing(self.memory.configs[QUEUE]) is None

    def _let_expire(self) -> None:
        super()._let_expire()
        config = existing(self.memory.configs.get(QUEUE))
        if config is not None and config.removing_us is not None:
            self.removing_at = self.loop.at

    def _add(self, queue: Queue) -> None:
        """Add; the add is refused during a removal alone, however long the removed queue's row stays."""
        began = self.loop.at
        try:
            super()._add(queue)
        except Conflict:
            require(self.removing_at >= began, "Q1", "an add was refused without a removal")

    def _revive_some(self, queue: Queue) -> None:
        with suppress(Conflict):
            super()._revive_some(queue)

    def _sweep_at_once(self) -> None:
        """Q4, while there is a queue: the harness creates none."""
        config = self.memory.configs.get(QUEUE)
        if config is not None and config.removing_us is None:
            super()._sweep_at_once()
