"""Small scenarios of the seams, explored whole: ``python -m tests.simulation_seams.exhaustive``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from tests.simulating.exploring import Play, Script, Scripted, drive
from tests.simulating.faults import Fault
from tests.simulating.room import Outcome
from tests.simulation_seams.network import possible
from tests.simulation_seams.scenario import (
    BEFORE,
    CHILD,
    INSIDE,
    JOB,
    TASK,
    WEBHOOK,
    WORK,
    BatchScript,
    Plan,
    Scenario,
)
from tests.simulation_seams.simulation import play
from tests.simulation_seams.world import World

SWEPT = "due"
"""Of this request each sweep makes dozens; no fault is placed there, as the next sweep makes up for it."""


class ScriptedWorld(Scripted, World):
    """A run whose schedule and faults are those of a script."""

    def __init__(self, scenario: Scenario, script: Script, lines: list[str] | None) -> None:
        super().__init__(scenario, Random(0), lines)
        self.script = script
        self.network.fault = self._fault  # type: ignore[method-assign]
        self.outside._plan = self._plan  # type: ignore[method-assign]

    def _plan(self, depth: int) -> Plan:
        """Return the plan of an item: those of a batch within a batch are worked on."""
        kind, for_good = WORK if depth else self.scenario.kinds[0], self.scenario.failing > 0 and not depth
        return Plan(kind, adds=(1,), for_good=for_good, where=INSIDE if kind == CHILD else BEFORE)

    def _fault(self, name: str) -> Fault | None:
        return None if name == SWEPT else self.script.fault(possible(name))

    def _deliveries(self) -> Iterable[Callable[[], None]]:
        can_deliver = self.slots > 0 and any(queue.visible() for queue in self.queues)
        return [self._deliver] if can_deliver else []


def _scenario(*kinds: str, count: int = 1, chunk: int = 0, **options: Any) -> Scenario:
    """Return a scenario of one batch whose items are of these kinds, alone in their messages or in chunks."""
    batches = (BatchScript("root", (count,), options),)
    return Scenario(batches, page_bits=2, kinds=kinds, longest=0.1, chunk=chunk)


SCENARIOS = {
    "one item": _scenario(WORK),
    "items of two chunks": _scenario(WORK, count=3, chunk=2),
    "an item that fails for good": replace(_scenario(WORK), failing=1.0),
    "a child whose block fails for good": replace(_scenario(CHILD), failing=1.0),
    "an item that a task owns": _scenario(TASK),
    "an item that a job owns": _scenario(JOB),
    "a batch that calls back": _scenario(WORK, callback=WEBHOOK),
    "an item that is a batch": _scenario(CHILD),
    "an event that is put at once": replace(_scenario(WORK), at_once=True),
    "a child whose event is put at once": replace(_scenario(CHILD), at_once=True),
}


def played(scenario: Scenario, script: Script, lines: list[str] | None = None) -> Outcome:
    """Play a scenario as the script says."""
    return play(ScriptedWorld(scenario, script, lines))


PLAYS: dict[str, Play] = {name: partial(played, scenario) for name, scenario in SCENARIOS.items()}

if __name__ == "__main__":
    sys.exit(drive(PLAYS))
