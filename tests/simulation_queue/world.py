"""One run: producers, workers and passing functions on one queue, until every accepted job has its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from fanin.errors import StoreUnavailable
from fanin.queue import (
    Jobs,
    LostClaim,
    NewJob,
    Options,
    OutboxEntry,
    Queue,
    QueueContext,
    QueueKey,
    Rejected,
    SessionLost,
    ShutDown,
)
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Dead, Job, JobState
from tests.item_ids import item_named
from tests.simulating.network import Request
from tests.simulating.violation import require
from tests.simulation_queue.bell import Bell
from tests.simulation_queue.expiring import Expiring, beside
from tests.simulation_queue.loop import SECOND, WALL, Loop, Process
from tests.simulation_queue.network import Disturbances, Network, RemoteStore, background, effects
from tests.simulation_queue.referee import Referee, named
from tests.simulation_queue.sharing import check_shares

QUEUE = QueueKey("t", "q")
CALM = 40 * SECOND
END = 400 * SECOND
STEPS_MAX = 60_000
SHARES_EVERY = 100
"""So many steps apart, what the workers own is compared."""


class Boom(Exception):
    """An error of the user's function."""


class Interrupt(BaseException):
    """An interruption of the worker during its work."""


class World:
    """*events*: counts by kind; *refused*, *acked*: the claims whose ack raised LostClaim, or returned.

    *expected*: errors of a take, and of the work on its jobs. *unfinished*: how many adds raised an error.
    """

    expected: tuple[type[BaseException], ...] = (
        StoreUnavailable,
        LostClaim,
        Boom,
        Interrupt,
        SessionLost,
        ShutDown,
    )

    session_seconds, trace_seconds = 2.0, 100.0

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        self.random = random
        self.loop = Loop(random)
        self.memory = MemoryStore()
        self.referee = Referee(self.memory)
        self.plan = Disturbances.drawn(random, CALM)
        self.network = Network(self.loop, self.referee, self.plan, trace)
        self.bell = Bell(self.loop, self.network, random, random.choice((0.0, 0.1, 0.5)))
        kept = self.session_seconds, self.trace_seconds
        self.expiring = Expiring(self.memory, self.referee, beside(random), *kept)
        self.parts = random.choice((1, 2, 4))
        self.max_failures = random.choice((None, None, 2))
        self.keys = random.choice((1, 2, 4))
        self.reruns = random.choice((0.0, 0.3, 0.8))
        self.longest = random.choice((0.5, 0.5, 15.0))
        self.boom = random.choice((0.08, 0.08, 0.4))
        self.delayed = 2.5 if self.plan.skew <= self.plan.later or random.random() < 0.1 else 0.0
        self.events: Counter[str] = Counter()
        self.bells = [self.bell]
        self.reported: dict[str, set[bool]] = {}
        self.revivals: Counter[str] = Counter()
        self.refused: set[str] = set()
        self.acked: set[str] = set()
        self.producing = 0
        self.names = self.unfinished = 0
        self.processes: list[Process] = []
        self.queues: list[tuple[Process, Queue]] = []

    def run(self) -> None:
        """Run until every accepted job has ended."""
        self.referee.skew = self.plan.skew
        self._begin()
        while not self._is_over():
            self.loop.step(self.network.stalled[0][0] if self.network.stalled else END)
            self.network.land()
            for bell in self.bells:
                bell.lose_to_frozen()
            self._let_expire()
            self.loop.bury()
            self._set_clocks_right()
            if self.random.random() < 0.001:
                self._sweep_at_once()
            if self.loop.steps % SHARES_EVERY == 0:
                check_shares(self.queues, self.memory)
            require(self.loop.at < END, "Q2", lambda: f"never acked: {self._alive()}")
            require(self.loop.steps < STEPS_MAX, "Q2", lambda: f"no end after {STEPS_MAX} steps")

    def _begin(self) -> None:
        """Start the producers, workers and functions."""
        for _ in range(self.random.choice((1, 1, 2))):
            self._produce()
        for number in range(self.random.choice((1, 2, 3))):
            self._work(self._process(f"worker {number}"), after=0)
        if self.random.random() < 0.3:
            self._pass_by(self._process("function"))

    def close(self) -> None:
        """Unwind the running tasks."""
        self.events["sessions expired"] += self.expiring.sessions.deleted
        self.events["removed queues expired"] += self.expiring.traces.deleted
        for task in self.loop.running:
            task.process.dead = True
        self.loop.bury()

    def _is_over(self) -> bool:
        if self.producing or self.network.stalled or self.loop.at < SECOND:
            return False
        return not self._alive() and not any(self.memory.outboxes.values())

    def _let_expire(self) -> None:
        """Delete rows of sessions and removed queues; no mark expires in this scenario."""
        self.expiring.delete(self.loop.at)

    def _alive(self) -> list[Job]:
        return [job for job in self.memory.stored.values() if job.is_live]

    def _process(self, name: str) -> Process:
        self.names += 1
        process = Process(f"{name}.{self.names}", self.plan.drawn_skew(self.loop.at))
        self.processes.append(process)
        return process

    def _set_clocks_right(self) -> None:
        """After the calm has begun, clocks that were wrong by minutes are right by seconds."""
        if self.plan.skew > self.plan.later and self.loop.at > self.plan.calm:
            self.plan.skew = self.plan.later
            for process in self.processes:
                process.skew = self.plan.drawn_skew(self.loop.at)

    def _queue_of(self, process: Process) -> tuple[QueueKey, Bell]:
        """The queue of a process."""
        return QUEUE, self.bell

    def _queue(self, process: Process) -> Queue:
        key, bell = self._queue_of(process)
        context = QueueContext(
            store=RemoteStore(self.network, process),
            doorbell=bell,
            key=key,
            options=self._options(),
            effects=effects(self.loop, process, self.random),
            report=self._report,
        )
        queue = Queue(context, background(self.loop, process))
        self.queues.append((process, queue))
        return queue

    def _options(self) -> Options:
        return Options(parts=self.parts, max_failures=self.max_failures, retry_delay=self.delay())

    def delay(self) -> float:
        return self.random.choice((0.0, 0.0, min(self.delayed, 1.5)))

    def _report(self, entry: OutboxEntry) -> None:
        require(entry.failed == (entry.reason is not None), "report", f"no reason, or one too many: {entry}")
        self.reported.setdefault(entry.item_id, set()).add(entry.failed)

    # Producers

    def _produce(self, name: str = "producer") -> None:
        process = self._process(name)
        self.producing += 1
        self.loop.begin(process, partial(self._add_all, process, self.random.randrange(3, 9)))

    def _add_all(self, process: Process, count: int) -> None:
        """Add some jobs over some seconds; a producer that crashes has a successor for the rest."""
        unsent = [count]
        try:
            queue = self._queue(process)
            while unsent[0]:
                self.loop.sleep(int(self.random.random() * 4 * SECOND))
                unsent[0] -= 1
                with suppress(StoreUnavailable):
                    self._add(queue)
                    self._revive_some(queue)
        finally:
            self.producing -= 1
            if process.dead and unsent[0]:
                self.producing += 1
                successor = self._process(process.name.partition(".")[0])
                self.loop.begin(successor, partial(self._add_all, successor, unsent[0]), SECOND)

    def _add(self, queue: Queue) -> None:
        requests = [self._new_job(queue.key) for _ in range(self.random.choice((1, 1, 1, 3)))]
        on_busy = "rerun" if self.random.random() < self.reruns else "reject"
        self._judge_add(queue, requests, on_busy)

    def _judge_add(self, queue: Queue, requests: list[NewJob], on_busy: str) -> None:
        """Add, and compare the answer with the applied requests."""
        began = self.loop.at
        rejected = self._answered_add(queue, requests, on_busy)
        self.events["rejected"] += len(rejected)
        refused = Counter(refusal.key for refusal in rejected)
        for request in requests:
            mine = [other for other in requests if other.key == request.key]
            if request is mine[0] and refused[request.key] < len(mine):
                self.events["added"] += 1
                accepted = self.referee.accepted_of[request.payload_text]
                require(accepted, "Q1", lambda request=request: f"{request} was not accepted")
            elif request is mine[0]:
                self.events["refused"] += 1
                since = self.referee.last_live.get(request.key, -1)
                require(
                    since >= began or self._is_live(request.key),
                    "Q1",
                    lambda request=request: f"{request} was refused without a live job",
                )

    def _answered_add(self, queue: Queue, requests: list[NewJob], on_busy: str) -> Sequence[Rejected]:
        """Add; it fails by a request to the store alone, whatever becomes of its rings."""
        try:
            return queue.add_all(requests, on_busy=on_busy)
        except BaseException as error:
            self.unfinished += 1
            by_its_ring = isinstance(error, StoreUnavailable) and error is self.network.failed_ring
            require(not by_its_ring, "ring", "an add failed by its ring")
            raise

    def _is_live(self, name: str) -> bool:
        return any(job.name == name for job in self._alive())

    def _new_job(self, of: QueueKey) -> NewJob:
        self.names += 1
        return NewJob(
            key=f"k{self.random.randrange(self.keys)}",
            payload=f"call {self.names}",
            priority=self.random.choice((0, 0, 5)),
            delay=self.random.choice((0.0, 0.0, 0.0, self.delayed)),
            item_id=item_named(self.names) if self.random.random() < 0.3 else None,
        )

    # Consumers

    def _work(self, process: Process, after: int) -> None:
        self.loop.begin(process, partial(self._consume, process), after)

    def _consume(self, process: Process) -> None:
        """Take and work in a loop; a worker that crashes has a successor some seconds later."""
        try:
            queue = self._queue(process)
            while True:
                with suppress(*self.expected):
                    self._scope(queue, self.random.choice((None, 1.0, 30.0)))
                if self.random.random() < 0.05:
                    queue.close()
                    self.events["closed"] += 1
                    queue = self._queue(process)
        finally:
            if process.dead:
                self._work(
                    self._process(process.name.partition(".")[0]), int(self.random.random() * 9 * SECOND)
                )

    def _pass_by(self, process: Process) -> None:
        self.loop.begin(process, partial(self._visit, process))

    def _visit(self, process: Process) -> None:
        """A function that is invoked repeatedly: it sweeps, and works without a heartbeat."""
        try:
            while True:
                self.loop.sleep(int(self.random.uniform(1, 15) * SECOND))
                queue = self._queue(process)
                with suppress(*self.expected):
                    queue.sweep()
                    self._revive_some(queue)
                    with queue.bounded(3.0) as bounded:
                        self._scope(bounded, 0.0)
                    self.events["visits"] += 1
        finally:
            if process.dead:
                self._pass_by(self._process("function"))

    def _revive_some(self, queue: Queue) -> None:
        for dead in queue.dead():
            if self.random.random() < 0.3:
                self._revive(queue, dead)

    def _revive(self, queue: Queue, dead: Dead) -> None:
        """Revive a dead job; one call for each record returns True."""
        if queue.revive(dead):
            self.events["revived"] += 1
            self.revivals[dead.record] += 1
            once = self.revivals[dead.record] == 1 and dead.record in self.referee.revived
            require(once, "Q2", lambda: f"was not revived by this call: {dead}")

    def _scope(self, queue: Queue, wait: float | None) -> None:
        most = self.random.choice((1, 2, 3))
        ended: set[str] = set()
        with queue.take(most, wait) as jobs:
            require(len(jobs) <= most and (jobs or wait is not None), "Q5", lambda: f"{len(jobs)} of {most}")
            require(len({job.name for job in jobs}) == len(jobs), "Q5", "one job twice in a take")
            for job in jobs:
                self._work_on(jobs, job, ended)
        for job in jobs:
            if job.claim not in ended:
                require(
                    job.claim in self.referee.ended_by,
                    "Q2",
                    lambda job=job: f"left without an error and not acked: {job}",
                )

    def _work_on(self, jobs: Jobs, job: Job, ended: set[str]) -> None:
        self.events["executions"] += 1
        draw = self.random.random
        self.loop.sleep(int((draw() * 6 if draw() < 0.1 else draw() * self.longest) * SECOND))
        if draw() < 0.04:
            self.network.freeze(self.loop.actor.process)
        drawn = draw()
        if drawn < self.boom:
            raise Boom
        if drawn < self.boom + 0.04:
            raise Interrupt
        if drawn < self.boom + 0.1:
            ended.add(job.claim)
            jobs.release(job, failed=draw() < 0.5)
        elif drawn < 0.8:
            ended.add(job.claim)
            self._ack(jobs, job)

    def _ack(self, jobs: Jobs, job: Job) -> None:
        """Ack with an outcome that names the claim, so that the check sees which execution wrote it."""
        try:
            jobs.ack(job, [{"Put": {"job": named(job), "claim": job.claim}}])
        except LostClaim:
            self.refused.add(job.claim)
            self.events["lost claims"] += 1
            raise
        require(
            self.referee.ended_by.get(job.claim) == named(job), "Q2", lambda: f"acked, and it was not: {job}"
        )
        self.acked.add(job.claim)

    def _sweep_at_once(self) -> None:
        """Q4: one sweep in one moment leaves no claim to a session that is gone."""
        process = Process("harness")
        store = _Direct(self.network)
        options = Options(parts=self.parts)
        context = QueueContext(store, _NoDoorbell(), QUEUE, options, effects(self.loop, process, self.random))
        Maintenance(context).sweep(range(self.parts))
        live = {member.id for member in self.memory.members(QUEUE) if member.live}
        for part in range(self.parts):
            for job in self.memory.jobs(PartKey(QUEUE, part), JobState.BUSY, 100):
                require(job.session in live, "Q4", lambda job=job: f"after a sweep: {job}")
        self.events["sweeps"] += 1


class _Direct(RemoteStore):
    """The store without the network."""

    def __init__(self, network: Network) -> None:
        super().__init__(network, Process("harness"))

    def _call(self, name, *args, **more):
        return self._network.apply(Request("(the harness)", name, (*args, *more.values())), "")


class _NoDoorbell:
    """A doorbell that loses every ring."""

    def at(self, url):
        return self

    def ring(self, rings, delay=0.0):
        pass


__all__ = ["QUEUE", "WALL", "World"]
