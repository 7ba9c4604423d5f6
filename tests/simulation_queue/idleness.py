"""A queue that is idle for long: adds race with its falling asleep and with its removal.

No worker polls: jobs are taken where a ring arrives, so that a job in a sleeping queue is taken by no worker.
Processes are slow without bound, compared to the time that an idle queue settles, or they are prompt. Of slow
ones, each answered add is held to its promise; of prompt ones, those too that crashed or timed out, and they
see the queue removed and created again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from unittest.mock import patch

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue import Dead, LostClaim, NewJob, Queue, ShutDown, config_cache
from fanin.queue.administration import removing
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import QueueConfig
from fanin.queue.sessions import taker
from tests.simulating.faults import CRASH_AFTER, CRASH_BEFORE, LATE, ON_READS, STALLED, Fault
from tests.simulating.network import Request
from tests.simulating.violation import require
from tests.simulation_queue import world
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.network import LATEST, POSSIBLE
from tests.simulation_queue.referee import WRITES
from tests.simulation_queue.world import QUEUE, Boom, Interrupt, World

CONFIG_SECONDS = 4.0
# Longer than the use of a config, three freezes, the way of a late copy, and the skew of two clocks.
SETTLE = 120.0
SLOW_SETTLE = 2.0
VISITS_APART = 150 * SECOND
CALM = 700 * SECOND
END = 4000 * SECOND


LEFT_BEHIND = Fault("left behind", applied=False, crash=True, copied=True)
"""The caller crashes, and its request lands later."""


class Idleness(World):
    """*unanswered*: payloads of adds and revivals under way; *answered*: of those that returned.

    *harsh*: whether adds meet many faults, and all others few. *removes*: a removal is being requested.
    *awaited*: how many adds wait for that; until then the sweeps are late.
    """

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.plan.calm = CALM
        self.slow = random.random() < 0.5
        if not self.slow:
            self.plan.skew = min(self.plan.skew, self.plan.later)
        self.settle = SLOW_SETTLE if self.slow else SETTLE
        self.forces = random.random() < 0.3
        self.next_visit = VISITS_APART
        self.unanswered: set[str] = set()
        self.answered: set[str] = set()
        self.seen: QueueConfig | None = None
        self.removes, self.awaited = False, 0
        self.parts = random.choice((1, 2, 4, 8))
        self.harsh = random.random() < 0.5
        if self.harsh:
            self.plan.rate, self.plan.remaining, self.plan.crashes = 0.01, 60, 6
            self.plan.kinds = {CRASH_AFTER, CRASH_BEFORE, LATE, LEFT_BEHIND, STALLED}
        self.network.fault, self.network.delay = self._fault, self._delay

    def run(self) -> None:
        short = patch.object(config_cache, "CONFIG_SECONDS", CONFIG_SECONDS)
        with (
            short,
            patch.object(world, "END", END),
            patch.object(self.referee, "may_remove", self._may_remove),
        ):
            super().run()

    def _begin(self) -> None:
        for _ in range(self.random.choice((1, 2))):
            self._produce()
            self._work(self._process("function"), after=0)
        for _ in range(self.random.choice((1, 2))):
            self._sweep_regularly(self._process("sweep"))
        if not self.slow and self.random.random() < 0.7:
            self.loop.begin(self._process("remover"), self._remove)

    def _fault(self, name: str) -> Fault | None:
        if self.loop.at > self.plan.calm:
            return None
        possible = POSSIBLE.get(name, ON_READS)
        return self.plan.draw((*possible, LEFT_BEHIND) if name in WRITES else possible)

    def _delay(self, request: Request) -> None:
        """Keep a copy of *request* for up to the longest time, more often than elsewhere for long."""
        at = self.loop.at + int(self.random.random() * LATEST)
        heapq.heappush(self.network.stalled, (at, next(self.network._numbers), request))

    # Producers

    def _add(self, queue: Queue) -> None:
        self._wait_for_a_moment()
        with suppress(Conflict):
            super()._add(queue)

    def _wait_for_a_moment(self) -> None:
        """Wait for a time without adds, often until shortly before or after the queue is idle or asleep."""
        settle, draw = int(self.settle * SECOND), self.random.random
        kind = self.random.choice(("none", "some", "idle", "idle", "asleep", "removal", "removal"))
        if kind == "some":
            self.loop.sleep(int(draw() * 2 * settle))
        elif kind == "idle":
            self.loop.sleep(2 * settle, lambda: self._is("idle_us"))
            self.loop.sleep(int(draw() * self.random.choice((0.1, 1.0)) * settle))
        elif kind == "asleep":
            self.loop.sleep(3 * settle, lambda: self._is("asleep_us") or self._is("removing_us"))
            self.loop.sleep(int(draw() * SECOND))
        elif kind == "removal" and not self.slow:
            self.awaited += 1
            try:
                self.loop.sleep(settle, lambda: self.removes)
            finally:
                self.awaited -= 1
            self.loop.sleep(int(draw() * SECOND / 20))

    def _is(self, name: str) -> bool:
        config = self.memory.configs.get(QUEUE)
        return config is not None and getattr(config, name) is not None

    def _judge_add(self, queue: Queue, requests: list[NewJob], on_busy: str) -> None:
        with self._under_way({request.payload_text or "" for request in requests}):
            super()._judge_add(queue, requests, on_busy)

    def _revive(self, queue: Queue, dead: Dead) -> None:
        with suppress(Conflict), self._under_way({dead.job.payload or ""}):
            super()._revive(queue, dead)

    @contextmanager
    def _under_way(self, payloads: set[str]) -> Iterator[None]:
        self.answered -= payloads
        self.unanswered |= payloads
        calm, self.plan.rate = self.plan.rate, 0.3 if self.harsh else self.plan.rate
        try:
            yield
            self.answered |= payloads
        finally:
            self.unanswered -= payloads
            self.plan.rate = min(calm, 0.01) if self.harsh else calm

    # Consumers and sweeps

    def _consume(self, process: Process) -> None:
        """Take jobs for each ring, as a function does; one that crashes has a successor."""
        try:
            queue = self._queue(process)
            while True:
                with suppress(StoreUnavailable, LostClaim, Boom, Interrupt, ShutDown, Conflict):
                    rings = self.bell.wait(20.0, 3)
                    if rings:
                        with queue.bounded(3.0) as bounded:
                            taker._promote(bounded.taker._live_worker(), rings)
                            self._scope(bounded, 0.0)
                        self.bell.delete(rings)
        finally:
            if process.dead:
                self._work(self._process("function"), SECOND)

    def _sweep_regularly(self, process: Process) -> None:
        self.loop.begin(process, partial(self._visit_often, process))

    def _visit_often(self, process: Process) -> None:
        """Visit the queue while the index lists it, and a sleeping one once in a long time."""
        try:
            queue = self._queue(process)
            while True:
                self.loop.sleep(int(self.random.uniform(0.5, 5) * SECOND))
                if self._is_listed() and not self.awaited:
                    with suppress(StoreUnavailable):
                        visit(queue.context, settle=self.settle)
        finally:
            if process.dead:
                self._sweep_regularly(self._process("sweep"))

    def _is_listed(self) -> bool:
        config = self.memory.configs.get(QUEUE)
        if config is None or config.removed_us is not None:
            return False
        if config.asleep_us is None:
            return True
        is_time = self.loop.at >= self.next_visit
        self.next_visit = self.loop.at + VISITS_APART if is_time else self.next_visit
        return is_time

    def _remove(self) -> None:
        """Request the removal of the queue some times."""
        queue = self._queue(self.loop.actor.process)
        for _ in range(self.random.choice((1, 5))):
            if self.random.random() < 0.3:
                self._wait_for_a_moment()
            else:
                self.loop.sleep(int(2 * self.settle * SECOND), self._is_empty_and_in_use)
            self.removes = True
            with suppress(Conflict, NotFound, StoreUnavailable):
                removing.begin(queue.context, force=self.forces)
            self.removes = False

    def _is_empty_and_in_use(self) -> bool:
        exists = self.memory.configs.get(QUEUE) is not None and not self._is("removed_us")
        return exists and self.awaited > 0 and not self._is("idle_us") and not self._alive()

    # Judgement

    def _may_remove(self, payload: str) -> bool:
        """Return whether a live job may be removed: an accepted one by force alone."""
        return self.forces or payload not in self.answered

    def _let_expire(self) -> None:
        """Judge each change of the config."""
        super()._let_expire()
        before, config = self.seen, self.memory.configs.get(QUEUE)
        self.seen = config
        if config is None:
            return
        if config.asleep_us is not None or config.removed_us is not None:
            self._judge_rest(config)
        if before is not None and config is not before:
            names = ("idle_us", "asleep_us", "removing_us", "removed_us")
            self.events.update(
                f"{name} set" for name in names if getattr(config, name) and not getattr(before, name)
            )
            self.events["woken"] += before.asleep_us is not None and config.asleep_us is None

    def _judge_rest(self, config: QueueConfig) -> None:
        """A queue that sleeps, or is gone, has no live job but those of requests under way."""
        live = {job.payload or "" for job in self._alive()}
        forgotten = live & self.answered if self.slow else live - self.unanswered
        require(not forgotten, "Q2", lambda: f"{sorted(forgotten)} in {config}")


__all__ = ["Idleness"]
