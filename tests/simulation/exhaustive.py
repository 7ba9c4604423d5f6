"""Small scenarios of the tracker, explored whole: ``python -m tests.simulation.exhaustive``."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from random import Random

from fanin.tracker import Mode
from tests.simulating.exploring import Play, Script, drive
from tests.simulating.faults import Fault
from tests.simulating.room import Outcome
from tests.simulation.scenario import AddScript, BatchScript, Scenario
from tests.simulation.simulation import play
from tests.simulation.trace import Trace

SWEPT = "due"
"""Of this request each sweep makes dozens; no fault is placed there, as the next sweep makes up for it."""


class ScriptedChoices:
    """Takes the choices of a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def actor(self, count: int) -> int:
        return self._script.decide(count - 1)

    def fault(self, request: str, possible: tuple[Fault, ...]) -> Fault | None:
        return None if request == SWEPT else self._script.fault(possible)

    def landing(self, count: int) -> int | None:
        taken = self._script.decide(count)
        return taken - 1 if taken else None


def _batch(total: int, *closers: str, early: bool = False) -> tuple[BatchScript, ...]:
    return (BatchScript("small", (AddScript("add", total),) if total else (), closers, "key", early=early),)


def _parent(children: int = 1) -> BatchScript:
    """A batch of two items, of which one stands for so many batches of one."""
    child = replace(_batch(1, "child-closer")[0], name="child", open_key="child-key")
    scripts = tuple(replace(child, name=f"child {n}", open_key=f"key {n}") for n in range(children))
    return BatchScript("top", (AddScript("add", 2, children=scripts, siblings=children),), ("closer",), "key")


SCENARIOS = {
    "nothing to do": Scenario((2,), _batch(0, "closer-a", "closer-b")),
    "one item": Scenario((2,), _batch(1, "closer")),
    "one page": Scenario((2,), _batch(2, "closer")),
    "two levels": Scenario((2,), _batch(3, "closer")),
    "two closers": Scenario((2,), _batch(2, "closer-a", "closer-b")),
    "an early close": Scenario((2,), _batch(2, "closer", early=True)),
    "an item twice": Scenario((2,), _batch(1, "closer"), copies=(2,)),
    "a replaced page": Scenario((2,), _batch(3, "closer"), guarded_digits=0),
    "three levels in ranges": Scenario((2,), _batch(5, "closer"), longest=3),
    "an item that failed": Scenario((2,), _batch(1, "closer"), is_basic=False, failing=1.0, both=0.0),
    "a failure that is healed": Scenario((2,), _batch(1, "closer"), is_basic=False, failing=1.0, both=1.0),
    "enough failures": Scenario(
        (2,), (replace(_batch(3, "closer")[0], max_failures=2),), is_basic=False, failing=1.0, both=0.0
    ),
    "a cancelled batch": Scenario((2,), (replace(_batch(1, "closer")[0], cancellers=1),), is_basic=False),
    "a batch in a batch": Scenario((2,), (_parent(),), is_basic=False),
    "two children of an item": Scenario((2,), (_parent(2),), is_basic=False),
    "an orphan": Scenario((2,), (_parent(),), is_basic=False, redelivered=0.0),
    "an estimate": Scenario(
        (2,), (replace(_batch(3, "closer")[0], mode=Mode.ESTIMATED),), is_basic=False, estimated_leaf=2
    ),
    "a sweeper beside": Scenario(
        (2,), _batch(1, "closer"), is_basic=False, sweepers=1, edges=True, tick_rate=0.2
    ),
}


def played(scenario: Scenario, script: Script, lines: list[str] | None = None) -> Outcome:
    """Play a scenario as the script says."""
    trace = Trace(lines) if lines is not None else None
    return play(scenario, Random(0), ScriptedChoices(script), trace)


PLAYS: dict[str, Play] = {name: partial(played, scenario) for name, scenario in SCENARIOS.items()}

if __name__ == "__main__":
    sys.exit(drive(PLAYS))
