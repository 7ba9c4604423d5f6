"""A hundred workers, some of which are killed at once: those that hold a job, their watchers, half of all.

The others wait at the doorbell. The jobs run elsewhere in time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

from fanin.errors import StoreUnavailable
from fanin.queue import LostClaim, SessionLost
from fanin.queue.rules.model import Job, JobState
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.takeover import TAKEOVER, Takeover

WORKERS = 100
WATCHERS = 2
UNWATCHED = 2 * SECOND
"""What is added where the two sessions that watch a killed one were killed with it."""
WORK = 1000 * SECOND


class Crowd(Takeover):
    """*jobs*: how many are held at the kill; *watchers*: how many watchers of each holder are killed too.

    *others*: the share of all other workers that are killed with them.
    """

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.parts = random.choice((8, 32))
        self.held = random.choice((1, 5))
        self.watchers = random.choice((0, 1, WATCHERS))
        self.others = random.choice((0.0, 0.0, 0.1, 0.5))

    def _begin(self) -> None:
        for number in range(WORKERS):
            process = self._process(f"worker {number}")
            self.crew[process] = self._queue(process)
            after = int(self.random.random() * SECOND)
            self.loop.begin(process, lambda process=process: self._serve(process), after)
        self.producing = 1
        self.loop.begin(self._process("harness"), self._disturb)

    def _serve(self, process: Process) -> None:
        """Hold the job that is taken before the kill; ack one that is taken after it."""
        while True:
            with suppress(StoreUnavailable, LostClaim, SessionLost), self.crew[process].take(1) as jobs:
                if not self.orphans:
                    self.loop.sleep(WORK)
                self._ack(jobs, jobs[0])

    def _disturb(self) -> None:
        self.loop.sleep(4 * SECOND)
        queue = self._queue(self.loop.actor.process)
        for _ in range(self.held):
            queue.add(self._job_of(self.random.randrange(self.parts)))
        while len(held := self._jobs(JobState.BUSY)) < self.held:
            self.loop.sleep(SECOND // 10)
        self.loop.sleep(int((1 + self.random.random()) * SECOND))
        ring = sorted(self.crew, key=self._session)
        killed = self._killed(ring, {job.session or "" for job in held})
        for process in killed:
            process.dead = True
            self.harmed.add(self._session(process))
        self.orphans = [(self.loop.at, job) for job in held]
        self.events["killed"] += len(killed)
        for allowed, job in sorted(
            ((self._allowed(ring, job), job) for job in held), key=lambda each: each[0]
        ):
            self.loop.sleep(self.orphans[0][0] + allowed - self.loop.at)
            self._judge(job)
        self._judge_watch()
        self.producing = 0

    def _killed(self, ring: list[Process], holders: set[str]) -> list[Process]:
        """Return the holders, their watchers, and some of the others."""
        killed = {i for i, process in enumerate(ring) if self._session(process) in holders}
        watchers = {(i - step) % len(ring) for i in killed for step in range(1, self.watchers + 1)}
        others = {i for i in range(len(ring)) if self.random.random() < self.others}
        return [ring[i] for i in sorted(killed | watchers | others)]

    def _allowed(self, ring: list[Process], job: Job) -> int:
        """Return how long a job may stay with a killed worker."""
        at = next(i for i, process in enumerate(ring) if self._session(process) == job.session)
        watched = any(not ring[at - step].dead for step in range(1, WATCHERS + 1))
        self.events["watched" if watched else "unwatched"] += 1
        return TAKEOVER if watched else TAKEOVER + UNWATCHED
