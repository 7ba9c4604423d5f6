"""One run: producers and workers on a queue whose parts are raised once or twice meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from random import Random
from unittest.mock import patch

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue import NewJob, Options, Queue, config_cache
from fanin.queue.administration.raising import raise_parts
from fanin.queue.maintenance import raise_phases
from fanin.queue.rules import model
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import job_key
from tests.simulating.expiry import TimeToLive
from tests.simulating.violation import require
from tests.simulation_parts.referee import PartsReferee
from tests.simulation_queue import network, referee
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.namesakes import expire_marks
from tests.simulation_queue.network import Disturbances
from tests.simulation_queue.referee import name_of
from tests.simulation_queue.world import QUEUE, World

CONFIG_SECONDS, LATEST_SECONDS, FREEZE_SECONDS, SKEW_SECONDS = 6.0, 4, 3, 1
SETTLE_SECONDS = 15
"""More than a config's age, one freeze, a late copy, the skew of two clocks, and the pauses of retries."""
MARK_SECONDS = 12
EXPIRE_SECONDS = MARK_SECONDS + 2
EARLY_SECONDS = SKEW_SECONDS + FREEZE_SECONDS + LATEST_SECONDS + 1
"""For how long before it is applied an end can have been made, whose time is that of the mark."""
SCALES = (
    (config_cache, "CONFIG_SECONDS", CONFIG_SECONDS),
    (network, "LATEST", LATEST_SECONDS * SECOND),
    (model, "MARK_SECONDS", MARK_SECONDS),
    (referee, "EARLIEST", EARLY_SECONDS * SECOND),
    (raise_phases, "SETTLE_SECONDS", SETTLE_SECONDS),
    (raise_phases, "EXPIRE_SECONDS", EXPIRE_SECONDS),
    (raise_phases, "PAGE_ROWS", 2),
    (raise_phases, "PAGES", 2),
)
"""The times of the protocol, so short that a run meets each phase; and pages of which a part has several."""
AFTER = 5 * SECOND
"""For how long producers go on after the last raise."""


class ShortFreezes(Disturbances):
    """Processes freeze for a few seconds."""

    def freeze(self, now: int) -> int:
        return min(super().freeze(now), FREEZE_SECONDS * SECOND)


class Raising(World):
    """*targets*: the numbers of parts, one after the other. *ended_at*: when the last raise ended."""

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.plan = self.network.plan = ShortFreezes.drawn(random, calm=300 * SECOND)
        self.plan.skew = min(self.plan.skew, SKEW_SECONDS * SECOND // 2)
        self.plan.remaining, self.plan.freezes = random.choice((5, 40, 150)), random.choice((0, 1))
        self.referee = self.network.referee = PartsReferee(self.memory)
        self.parts = random.choice((1, 2))
        self.targets = [random.choice((2, 3, 4)) if self.parts == 1 else random.choice((3, 4, 5))]
        if random.random() < 0.15:
            self.targets.append(self.targets[0] + random.choice((1, 2)))
        self.keys, self.repeated = random.choice((1, 2, 4)), random.choice((1, 4, 8))
        self.pace = random.choice((0.5, 1.0, 2.0))
        self.longest = random.choice((0.1, 0.1, 2.0))
        self.table = TimeToLive.draw(random, ahead=SKEW_SECONDS / 2, late=30.0)
        self.ended_at: int | None = None
        self.next_expiry = 0

    def run(self) -> None:
        with ExitStack() as stack:
            for owner, name, value in SCALES:
                stack.enter_context(patch.object(owner, name, value))
            super().run()
        config = self.memory.configs[QUEUE]
        require((config.phase, config.parts) == (Phase.STEADY, self.targets[-1]), "raise", f"{config}")

    def _options(self) -> Options:
        return replace(super()._options(), heartbeat=2.0)

    def _begin(self) -> None:
        for number in range(self.random.choice((1, 2, 2))):
            self._keep_running(f"producer {number}", self._produce_until_raised)
        for number in range(self.random.choice((1, 2))):
            self._work(self._process(f"worker {number}"), after=0)
        for number in range(self.random.choice((1, 1, 2))):
            self._keep_running(f"sweeper {number}", self._sweep)
        self._keep_running("operator", self._raise)

    def _keep_running(self, name: str, run: Callable[[Process], None], after: int = 0) -> None:
        """Run a process; one that crashes has a successor."""
        process = self._process(name)

        def alive() -> None:
            try:
                run(process)
            finally:
                if process.dead and not self._is_done():
                    self._keep_running(name, run, SECOND)

        self.loop.begin(process, alive, after)

    def _is_done(self) -> bool:
        """Return whether the last raise ended so long ago that no process has an older config."""
        config = self.memory.configs.get(QUEUE, QueueConfig(self.parts))
        if config.phase is Phase.STEADY and config.parts == self.targets[-1] and self.ended_at is None:
            self.ended_at = self.loop.at
        return self.ended_at is not None and self.loop.at > self.ended_at + AFTER

    def _is_over(self) -> bool:
        return self._is_done() and super()._is_over()

    def _raise(self, process: Process) -> None:
        queue = self._queue(process)
        self.loop.sleep(int(self.random.uniform(1, 4) * SECOND))
        for parts in self.targets:
            while self.memory.configs.get(QUEUE, QueueConfig(1)).parts < parts:
                with suppress(StoreUnavailable, Conflict, NotFound):
                    raise_parts(queue.context.store, queue.context.effects, QUEUE, parts)
                self.loop.sleep(SECOND)

    def _sweep(self, process: Process) -> None:
        while True:
            self.loop.sleep(int(self.random.uniform(0.2, 1.5) * SECOND))
            queue = self._queue(process)
            with suppress(StoreUnavailable):
                raise_phases.advance(queue.context)
                if self.random.random() < 0.1:
                    queue.sweep()

    def _produce_until_raised(self, process: Process) -> None:
        queue = self._queue(process)
        while not self._is_done():
            self.loop.sleep(int(self.random.random() * self.pace * SECOND))
            with suppress(StoreUnavailable):
                if self.random.random() < 0.5:
                    self._add(queue)
                else:
                    self._add_again(queue)
                if self.random.random() < 0.2:
                    self._revive_some(queue)

    def _add_again(self, queue: Queue) -> None:
        """Add the one job of a key, which was added before perhaps, by this process or another."""
        number = self.random.randrange(self.repeated)
        name, job_id = f"r{number}", f"id of r{number}"
        record = self.referee.records.get(name_of(job_key(QUEUE, 1, name), job_id))
        if record is not None and record.died:
            return
        self.names += 1
        queue.add(
            NewJob(name, f"call {self.names}", delay=self.random.choice((0.0, 0.0, 0.0, 30.0)), id=job_id)
        )
        self.events["repeated adds"] += 1

    def _let_expire(self) -> None:
        if self.loop.at >= self.next_expiry:
            self.next_expiry = self.loop.at + SECOND // 4
            expire_marks(self.memory.stored, self.table, self.loop.at, MARK_SECONDS)

    def _sweep_at_once(self) -> None:
        """Q4, over the parts that there are by now."""
        if QUEUE in self.memory.configs:
            self.parts = self.memory.configs[QUEUE].parts
            super()._sweep_at_once()
