"""An idle queue that is paused and resumed too, and whose parts are raised, while it sleeps or is removed.

After its removal it is created again with the parts of its beginning. Processes are prompt, because the
phases of a raise settle by the clock. A sweep that deletes rows may stand still until its queue is the next
one of the name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from random import Random
from unittest.mock import patch

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue import Queue
from fanin.queue.administration.changing import pause, resume
from fanin.queue.administration.raising import raise_parts
from fanin.queue.maintenance import raise_phases
from fanin.queue.rules.config import Phase, QueueConfig
from tests.simulating.violation import require
from tests.simulation_parts.referee import PartsReferee
from tests.simulation_queue.idleness import SETTLE, Idleness
from tests.simulation_queue.loop import SECOND, WALL, Process
from tests.simulation_queue.world import QUEUE

SCALES = (("SETTLE_SECONDS", SETTLE), ("EXPIRE_SECONDS", SETTLE), ("PAGE_ROWS", 2), ("PAGES", 2))
ROUNDS = 6
APART, OF_READS = SECOND // 10, 4
"""The steps of a visit are closer together than this; its first ones are those of two reads of the config."""
STOP = 60 * SECOND
"""Shorter than an idle queue settles."""


class Operations(Idleness):
    """*target*: the number of parts to which they are raised. *stops*: how many sweeps stand still so.

    *steps*: when each process took its last step to the store or back, and how many in this visit.
    """

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.slow, self.settle = False, SETTLE
        self.plan.skew = min(self.plan.skew, self.plan.later)
        self.parts = random.choice((1, 2, 3))
        self.target = self.parts + random.choice((1, 2, 3))
        self.referee = self.network.referee = PartsReferee(self.memory)
        self.stops = random.choice((0, 1)) if self.plan.freezes < 3 else 0
        self.steps: dict[str, tuple[int, int]] = {}
        self.network.answered = self._answered  # type: ignore[method-assign]

    def run(self) -> None:
        with ExitStack() as stack:
            for name, value in SCALES:
                stack.enter_context(patch.object(raise_phases, name, value))
            super().run()

    def _answered(self) -> None:
        """Stop a sweep after it has read, twice, the config of a queue whose rows are deleted."""
        name = self.loop.actor.process.name
        type(self.network).answered(self.network)
        at, number = self.steps.get(name, (0, 0))
        number = number + 1 if self.loop.at - at < APART else 1
        self.steps[name] = self.loop.at, number
        if self.stops and name.startswith("sweep") and number == OF_READS and self._is_deleted():
            self.stops = 0
            self.loop.sleep(STOP, self._is_used_again)
            self.events["sweeps of the queue before"] += self._is_used_again()

    def _is_deleted(self) -> bool:
        """Return whether the rows of the queue may be deleted now."""
        config = self.memory.configs.get(QUEUE)
        if config is None or config.removing_us is None or config.removed_us is not None:
            return False
        return WALL + self.loop.at - config.removing_us >= self.settle * SECOND

    def _is_used_again(self) -> bool:
        """Return whether the next queue of the name has a job that was added and answered."""
        config = self.memory.configs.get(QUEUE)
        exists = config is not None and config.removing_us is None
        return exists and any(job.payload in self.answered for job in self._alive())

    def _begin(self) -> None:
        super()._begin()
        self._operate(self._process("operator"))

    def _operate(self, process: Process, after: int = 0) -> None:
        self.loop.begin(process, partial(self._change_often, process), after)

    def _change_often(self, process: Process) -> None:
        """Pause, resume and raise at moments that matter, and resume at the end; a crash has a successor."""
        try:
            queue = self._queue(process)
            for _ in range(ROUNDS):
                self._wait_for_a_moment()
                self._change(queue, self.random.choice((pause, resume, self._raise)))
            while self._is_paused():
                self._change(queue, resume)
                self.loop.sleep(SECOND)
        finally:
            if process.dead:
                self._operate(self._process("operator"), SECOND)

    def _change(self, queue: Queue, change: Callable[..., QueueConfig]) -> None:
        with suppress(StoreUnavailable, Conflict, NotFound):
            change(queue.context)
            self.events[getattr(change, "__name__", "").strip("_")] += 1

    def _raise(self, context) -> QueueConfig:
        return raise_parts(context.store, context.effects, QUEUE, self.target)

    def _is_paused(self) -> bool:
        config = self.memory.configs.get(QUEUE)
        return config is not None and config.paused and config.removed_us is None

    def _let_expire(self) -> None:
        before = self.seen
        super()._let_expire()
        if before is None or self.seen is before or self.seen is None:
            return
        self.events[f"{self.seen.phase.value} begun"] += before.phase is not self.seen.phase
        raised = self.seen.phase is not Phase.STEADY
        require(not raised or self.seen.asleep_us is None, "raise", lambda: f"asleep in a raise: {self.seen}")


__all__ = ["Operations"]
