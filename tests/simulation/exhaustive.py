"""Every placement of up to two disturbances in small scenarios: ``python -m tests.simulation.exhaustive``.

The undisturbed schedule lets each actor go on to its end, in a fixed order, over a network that works. A
disturbance is one deviation from it at one decision: another actor goes first, a request fails in one of
the ways it can, a stalled copy lands. Where it strikes, the run that follows is another, so that the
second one is tried at every decision after the first, as that run meets them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from fanin.tracker import Mode
from tests.simulating.faults import Fault
from tests.simulating.violation import Violation
from tests.simulation.scenario import AddScript, BatchScript, Scenario
from tests.simulation.simulation import play
from tests.simulation.trace import Trace

Disturbances = dict[int, int]
"""Which alternative is taken, by the number of the decision."""


class ScriptedChoices:
    """Takes the undisturbed way but at the decisions named; *widths* says how many other ways each had."""

    def __init__(self, disturbances: Disturbances) -> None:
        self._disturbances = disturbances
        self.widths: list[int] = []

    def actor(self, count: int) -> int:
        return self._decide(count - 1)

    def fault(self, request: str, possible: tuple[Fault, ...]) -> Fault | None:
        taken = self._decide(len(possible))
        return possible[taken - 1] if taken else None

    def landing(self, count: int) -> int | None:
        taken = self._decide(count)
        return taken - 1 if taken else None

    def _decide(self, width: int) -> int:
        self.widths.append(width)
        return self._disturbances.get(len(self.widths) - 1, 0)


def _batch(total: int, *closers: str, early: bool = False) -> tuple[BatchScript, ...]:
    return (BatchScript("small", (AddScript("add", total),) if total else (), closers, "key", early=early),)


def _parent() -> BatchScript:
    """A batch of two items, of which one stands for a batch of one."""
    child = replace(_batch(1, "child-closer")[0], name="child", open_key="child-key")
    return BatchScript("top", (AddScript("add", 2, children=(child,)),), ("closer",), "key")


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
    "an item that failed": Scenario((2,), _batch(1, "closer"), plain=False, failing=1.0, both=0.0),
    "a failure that is healed": Scenario((2,), _batch(1, "closer"), plain=False, failing=1.0, both=1.0),
    "enough failures": Scenario(
        (2,), (replace(_batch(3, "closer")[0], max_failures=2),), plain=False, failing=1.0, both=0.0
    ),
    "a cancelled batch": Scenario((2,), (replace(_batch(1, "closer")[0], cancellers=1),), plain=False),
    "a batch in a batch": Scenario((2,), (_parent(),), plain=False),
    "an orphan": Scenario((2,), (_parent(),), plain=False, redelivered=0.0),
    "an estimate": Scenario(
        (2,), (replace(_batch(3, "closer")[0], mode=Mode.ESTIMATED),), plain=False, estimated_leaf=2
    ),
    "a sweeper beside": Scenario(
        (2,), _batch(2, "closer"), plain=False, sweepers=1, edges=True, tick_rate=0.2
    ),
}


def explore(scenario: Scenario, depth: int) -> Iterator[tuple[Disturbances, Violation | None]]:
    """Each run with up to *depth* disturbances, and the promise it broke, if any."""
    todo: list[Disturbances] = [{}]
    while todo:
        disturbances = todo.pop()
        choices = ScriptedChoices(disturbances)
        yield disturbances, play(scenario, Random(0), choices).violation
        if len(disturbances) < depth:
            begin = max(disturbances, default=-1) + 1
            for place in range(begin, len(choices.widths)):
                todo += [{**disturbances, place: other + 1} for other in range(choices.widths[place])]


def main(argv: list[str] | None = None) -> int:
    """0 where no promise was broken, 1 where one was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=2, help="disturbances in a run, at most")
    parser.add_argument("--scenario", choices=SCENARIOS, help="this one only")
    wanted = parser.parse_args(argv)
    names = [wanted.scenario] if wanted.scenario else list(SCENARIOS)
    return 1 if sum(_explored(name, wanted.depth) for name in names) else 0


def _explored(name: str, depth: int) -> int:
    """Print what the runs of a scenario came to; how many broke a promise."""
    began, runs, broken = time.monotonic(), 0, 0
    for disturbances, violation in explore(SCENARIOS[name], depth):
        runs += 1
        if violation:
            broken += 1
            if broken == 1:
                _show(name, disturbances)
    print(f"{name:24} {runs:9,} runs, {broken} broken, {time.monotonic() - began:.1f} s", flush=True)
    return broken


def _show(name: str, disturbances: Disturbances) -> None:
    lines: list[str] = []
    outcome = play(SCENARIOS[name], Random(0), ScriptedChoices(disturbances), Trace(lines))
    print("\n".join(lines), f"\n{name}, {disturbances}: {outcome.violation}")


if __name__ == "__main__":
    sys.exit(main())
