"""Small scenarios of the group-batcher, explored whole: ``python -m tests.simulation_grouper.exhaustive``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random

from fanin.grouper import Isolation, Policy
from tests.simulating.exploring import Play, Script, Scripted, drive
from tests.simulating.faults import PAUSED, Fault
from tests.simulating.room import Outcome
from tests.simulation_grouper.network import possible
from tests.simulation_grouper.scenario import CALL, LEASE, TICK, Scenario, Wanted, draw
from tests.simulation_grouper.simulation import play
from tests.simulation_grouper.world import World

PAUSE = LEASE * 1.5


class ScriptedWorld(Scripted, World):
    """A run whose schedule, faults and pauses are those of a script."""

    def __init__(self, scenario: Scenario, script: Script, lines: list[str] | None) -> None:
        super().__init__(scenario, Random(0), lines)
        self.script = script
        self.network.fault = self._fault  # type: ignore[method-assign]

    def _fault(self, name: str) -> Fault | None:
        """Return the fault of a request, which its actor may send late."""
        if self.script.decide(1):
            self.network.faults[PAUSED] += 1
            self.loop.sleep(PAUSE)
        return self.script.fault(possible(name))

    def _begin_what_is_due(self) -> None:
        self.referee.catch_up()
        self._arrive()

    def _deliveries(self) -> Iterable[Callable[[], None]]:
        return (partial(self._deliver, sent) for sent in self.queues.visible())


def _scenario(*poison: str, **options: object) -> Scenario:
    """Return a scenario of one task for each of *poison*, all at once, over queues that lose nothing."""
    tasks = tuple(
        Wanted(f"task-{number}", "A", TICK * number, 1, 3, 0, kind) for number, kind in enumerate(poison)
    )
    policy = Policy(
        linger=timedelta(0), max_delay=timedelta(0), max_size=2, lease=LEASE, call_lease=CALL, max_attempts=3
    )
    quiet = replace(draw(Random(0)), tasks=tasks, policy=replace(policy, **options), chunk=2, rounds=1)
    quiet = replace(quiet, lag=(0.0, 0.0), fault_count=2, pauses=0, duplicates=0, skew=0.0)
    return replace(quiet, failures=0, by_member=False)


SCENARIOS = {
    "one task": _scenario(""),
    "a task that is refused": _scenario("refuse"),
    "a bundle that is taken apart": _scenario("", "refuse", isolation=Isolation.SOLO),
    "a rate": _scenario("", rate=0.5, burst=1),
}


def played(scenario: Scenario, script: Script, lines: list[str] | None = None) -> Outcome:
    """Play a scenario as the script says."""
    return play(ScriptedWorld(scenario, script, lines))


PLAYS: dict[str, Play] = {name: partial(played, scenario) for name, scenario in SCENARIOS.items()}

if __name__ == "__main__":
    sys.exit(drive(PLAYS))
