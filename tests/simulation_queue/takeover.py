"""One worker is killed, and a second one killed or frozen soon after: their jobs run elsewhere in time.

No other process fails; the wall clocks are wrong and are set forward and back. The others work on parts that
are filled repeatedly, or wait at the doorbell.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

from fanin.errors import StoreUnavailable
from fanin.queue import LostClaim, NewJob, Queue, SessionLost
from fanin.queue.rules.keys import PartKey, job_key
from fanin.queue.rules.model import Job, JobState
from tests.simulating.violation import require
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.world import QUEUE, World

TAKEOVER = 7 * SECOND
"""The expiry and two seconds."""
# Later, the second one might be the one that has just freed the jobs of the first.
TAKEOVER_PAUSE = 3 * SECOND
JOBS_A_TAKE = 2
JUMPS = 40
WORK_SECONDS = (0.2, 0.5)


class Takeover(World):
    """*crew*: the workers, each with its queue; *orphans*: jobs of a dead worker, and since when.

    *harmed*: the sessions of the workers that were killed or frozen.
    """

    session_seconds = 86_400.0

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.plan.rate, self.plan.freezes, self.bell.loss = 0.0, 0, 0.0
        self.plan.skew, self.plan.jumps = random.choice((2, 300, 300)) * SECOND, JUMPS
        self.parts = random.choice((2, 4, 8))
        self.max_failures = None
        self.waiting = random.choice((0, 4, 4))
        self.quiet = not self.waiting and random.random() < 0.5
        self.crew: dict[Process, Queue] = {}
        self.orphans: list[tuple[int, Job]] = []
        self.harmed: set[str] = set()

    def _begin(self) -> None:
        for number in range(self.random.choice((3, 4, 5))):
            process = self._process(f"worker {number}")
            self.crew[process] = self._queue(process)
            self.loop.begin(process, lambda process=process: self._toil(self.crew[process]))
        self.producing = 1
        harness = self._process("harness")
        self.loop.begin(harness, self._disturb)
        self.loop.begin(self._process("producer"), self._fill)

    def _toil(self, queue: Queue) -> None:
        while True:
            with suppress(StoreUnavailable, LostClaim, SessionLost), queue.take(JOBS_A_TAKE) as jobs:
                for job in jobs:
                    self.loop.sleep(int(self.random.uniform(*WORK_SECONDS) * SECOND))
                    self._ack(jobs, job)

    def _fill(self) -> None:
        """Keep jobs ready in every part, or so few that workers wait, or none after the kill."""
        queue = self._queue(self.loop.actor.process)
        while self.producing and not (self.quiet and self.orphans):
            for part in range(self.parts):
                ready = len(self.memory.jobs(PartKey(QUEUE, part), JobState.READY, self.waiting))
                for _ in range(self.waiting - ready):
                    queue.add(self._job_of(part))
            if not self.waiting:
                queue.add(self._job_of(self.random.randrange(self.parts)))
            self.loop.sleep(int(self.random.random() * SECOND / 2))

    def _job_of(self, part: int) -> NewJob:
        """A new job that falls into *part*."""
        while True:
            self.names += 1
            name = f"j{self.names}"
            if job_key(QUEUE, self.parts, name).part.number == part:
                self.events["added"] += 1
                return NewJob(name, f"call {self.names}")

    def _disturb(self) -> None:
        self.loop.sleep(int((2 + self.random.random()) * SECOND))
        first, second = self.random.sample(list(self.crew), 2)
        self._kill(first)
        self.loop.sleep(int(self.random.random() ** 2 * TAKEOVER_PAUSE))
        if self.random.random() < 0.3 and not self.quiet:
            self._kill(second)
        else:
            self.harmed.add(self._session(second))
            second.frozen_until = self.loop.at + int(self.random.uniform(8, 20) * SECOND)
        for since, job in self.orphans:
            self.loop.sleep(since + TAKEOVER - self.loop.at)
            self._judge(job)
        self._judge_watch()
        self.producing = 0

    def _judge_watch(self) -> None:
        """No session that beats is ended, whatever the wall clocks show."""
        others = self.referee.ended_sessions - self.harmed
        require(not others, "watch", lambda: f"{sorted(others)} were ended, and had beaten")

    def _kill(self, process: Process) -> None:
        """Kill it while it holds a job."""
        while not (held := self._held(self.crew[process])):
            self.loop.sleep(SECOND // 100)
        process.dead = True
        self.harmed.add(self._session(process))
        self.events["killed"] += 1
        self.orphans += [(self.loop.at, job) for job in held]

    def _held(self, queue: Queue) -> list[Job]:
        session = queue.taker.worker.session.id if queue.taker.worker else ""
        return [job for job in self._jobs(JobState.BUSY) if job.session == session]

    def _session(self, process: Process) -> str:
        worker = self.crew[process].taker.worker
        return worker.session.id if worker else ""

    def _judge(self, orphan: Job) -> None:
        job = self.memory.stored.get(orphan.key)
        require(
            job is None or not job.is_live or job.deliveries > orphan.deliveries,
            "takeover",
            lambda: f"{orphan} was not taken over in time",
        )
        self.events["taken over"] += 1

    def _sweep_at_once(self) -> None:
        """Do nothing: the harness does not take the jobs that it frees."""

    def _jobs(self, state: JobState) -> list[Job]:
        parts = (PartKey(QUEUE, part) for part in range(self.parts))
        return [job for part in parts for job in self.memory.jobs(part, state, 100)]
