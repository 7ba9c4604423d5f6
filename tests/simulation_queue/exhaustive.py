"""Small scenarios of the work queue, explored whole: ``python -m tests.simulation_queue.exhaustive``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random

from fanin.errors import Failed, StoreUnavailable
from fanin.queue import Jobs, LostClaim, NewJob, SessionLost
from fanin.queue.rules.model import Job
from tests.item_ids import item_named
from tests.simulating.exploring import Play, Script, drive
from tests.simulating.faults import ON_READS, ON_WRITES, PAUSED, Fault
from tests.simulating.room import Outcome, played
from tests.simulation_queue.loop import SECOND, Process
from tests.simulation_queue.network import Disturbances
from tests.simulation_queue.referee import WRITES
from tests.simulation_queue.simulation import play_out
from tests.simulation_queue.world import Boom, World

STOPS = (SECOND // 2, 10 * SECOND)
"""For how long a process stops: others go first, or its session expires."""
UNDISTURBED = {"beat", "peek", "peek_config", "config"}
"""What sessions ask all the time. A process that stops does not ask it either."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One job in a queue of so many *workers*; its function raises the first *raises* times.

    *most*: the failures of which a job dies. *adds*: how often a job of the key is added. *for_good*: the
    function then fails it for good.
    """

    workers: int = 2
    raises: int = 0
    most: int | None = None
    adds: int = 1
    for_good: bool = False


class Scripted(World):
    """A run whose faults and stops are those of a script."""

    def __init__(self, scenario: Scenario, script: Script, trace: Callable[[str], None] | None) -> None:
        super().__init__(Random(0), trace)
        self.scenario, self.script = scenario, script
        self.raised = 0
        self.bell.loss, self.parts, self.keys, self.delayed = 0.0, 1, 1, 0.0
        self.max_failures = scenario.most
        plan = Disturbances.drawn(Random(0), 0)
        plan.rate, plan.freezes, plan.jumps, plan.skew, plan.later = 0.0, 0, 0, 0, 0
        self.plan = self.network.plan = plan
        self.network.fault = self._fault  # type: ignore[method-assign]

    def _fault(self, name: str) -> Fault | None:
        """Return the fault of a request, which its process may send late."""
        if name in UNDISTURBED:
            return None
        stop = self.script.decide(len(STOPS))
        if stop:
            self.network.faults[PAUSED] += 1
            self.loop.actor.process.frozen_until = self.loop.at + STOPS[stop - 1]
            self.loop.sleep(STOPS[stop - 1])
        return self.script.fault(ON_WRITES if name in WRITES else ON_READS)

    def _begin(self) -> None:
        self._produce()
        for number in range(self.scenario.workers):
            self._work(self._process(f"worker {number}"), after=0)

    def _add_all(self, process: Process, count: int) -> None:
        """Add the job, again until an add is answered; a crash has a successor."""
        try:
            queue = self._queue(process)
            for number in range(self.scenario.adds):
                self.loop.sleep(number * SECOND)
                with suppress(StoreUnavailable):
                    self._judge_add(
                        queue, [NewJob("k", f"call {number}", item_id=item_named(number))], "reject"
                    )
        finally:
            self.producing -= 1

    def _consume(self, process: Process) -> None:
        """Take and work in a loop; a worker that crashes has a successor."""
        try:
            queue = self._queue(process)
            while True:
                with suppress(StoreUnavailable, LostClaim, Boom, SessionLost), queue.take(1, 30.0) as jobs:
                    for job in jobs:
                        self._work_on(jobs, job, set())
        finally:
            if process.dead:
                self._work(self._process("worker"), SECOND)

    def _work_on(self, jobs: Jobs, job: Job, ended: set[str]) -> None:
        self.events["executions"] += 1
        self.loop.sleep(SECOND // 10)
        if self.raised < self.scenario.raises:
            self.raised += 1
            raise Boom
        if self.scenario.for_good:
            raise Failed("never")
        self._ack(jobs, job)

    def _sweep_at_once(self) -> None:
        """Do nothing: the workers sweep."""


SCENARIOS = {
    "one job": Scenario(),
    "a job that fails once": Scenario(workers=1, raises=1),
    "a job that dies": Scenario(workers=1, raises=9, most=1),
    "a job that fails for good": Scenario(workers=1, for_good=True),
    "a job added again": Scenario(workers=1, adds=2),
}


def play(scenario: Scenario, script: Script, lines: list[str] | None = None) -> Outcome:
    """Play a scenario as the script says."""
    world = Scripted(scenario, script, lines.append if lines is not None else None)
    violation = played(lambda: play_out(world))
    return Outcome(violation, world.network.requests, world.network.faults, world.events)


PLAYS: dict[str, Play] = {name: partial(play, scenario) for name, scenario in SCENARIOS.items()}

if __name__ == "__main__":
    sys.exit(drive(PLAYS))
