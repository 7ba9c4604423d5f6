"""Every placement of up to so many disturbances in a small scenario.

The undisturbed schedule lets each actor go on to its end, in a fixed order, over a network that works. A
disturbance is one deviation from it at one decision: another actor goes first, a request fails in one of the
ways it can, a process stops for a while, a stalled copy lands. The run that follows is another one, so that
the second disturbance is tried at every decision after the first, as that run meets them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from tests.simulating.faults import CRASH_BEFORE, ON_READS, THROTTLED, Fault
from tests.simulating.room import Outcome
from tests.simulating.violation import Violation

Disturbances = dict[int, int]
"""Which alternative is taken, by the number of the decision."""


class Script:
    """Takes the undisturbed way but at the decisions named; *widths* says how many other ways each had."""

    def __init__(self, disturbances: Disturbances | None = None) -> None:
        self._disturbances = disturbances or {}
        self.widths: list[int] = []

    def decide(self, width: int) -> int:
        """Return 0 for the undisturbed way, or the number of one of *width* others."""
        self.widths.append(width)
        return self._disturbances.get(len(self.widths) - 1, 0)

    def fault(self, possible: Sequence[Fault]) -> Fault | None:
        """Return one of the faults that a request can meet, None if it meets none."""
        kinds = distinct(tuple(possible))
        taken = self.decide(len(kinds))
        return kinds[taken - 1] if taken else None


class Scripted:
    """A world whose schedule is that of a script: each actor goes on to its end; time passes if all wait."""

    script: Script
    last: object = None
    _begin_what_is_due: Callable[[], None]
    _jump: Callable[[], bool]

    def _go_on(self) -> bool:
        world: Any = self
        self._begin_what_is_due()
        stalled = world.network.stalled
        landing = self.script.decide(len(stalled)) if stalled else 0
        if landing:
            world.network.land(landing - 1)
        runnable = sorted(world.loop.runnable(), key=lambda actor: actor is not self.last)
        steps = [*(partial(self._switch, actor) for actor in runnable), *self._deliveries()]
        if not steps:
            return self._jump()
        steps[self.script.decide(len(steps) - 1)]()
        return True

    def _deliveries(self) -> Iterable[Callable[[], None]]:
        """Return the deliveries that can come next."""
        raise NotImplementedError  # each simulator has its own

    def _switch(self, actor: object) -> None:
        world: Any = self
        self.last = actor
        world.loop.switch(actor)


Play = Callable[[Script, list[str] | None], Outcome]
"""Plays a small scenario as a script says; a list takes down each request."""


@cache
def distinct(possible: tuple[Fault, ...]) -> list[Fault]:
    """Return one of those faults that do the same: a read has no effect, whether it is applied or not."""
    if possible == ON_READS:
        return [THROTTLED, CRASH_BEFORE]
    return list({replace(fault, name=""): fault for fault in possible}.values())


def explore(play: Play, depth: int) -> Iterator[tuple[Disturbances, Outcome]]:
    """Yield each run with up to *depth* disturbances, and what it came to."""
    todo: list[Disturbances] = [{}]
    while todo:
        disturbances = todo.pop()
        script = Script(disturbances)
        yield disturbances, play(script, None)
        if len(disturbances) < depth:
            begin = max(disturbances, default=-1) + 1
            for place in range(begin, len(script.widths)):
                todo += [{**disturbances, place: other + 1} for other in range(script.widths[place])]


def first_broken(play: Play, depth: int) -> tuple[Disturbances, Violation] | None:
    """Return the first run that breaks a promise, None if none does."""
    broken = ((each, outcome.violation) for each, outcome in explore(play, depth) if outcome.violation)
    return next(broken, None)


def drive(plays: Mapping[str, Play], argv: list[str] | None = None) -> int:
    """Return 0 if no promise was broken, 1 if one was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=2, help="disturbances in a run, at most")
    parser.add_argument("--scenario", choices=plays, help="this one only")
    parser.add_argument("--replay", metavar="PLACE=WAY,...", help="this run only, with each request")
    wanted = parser.parse_args(argv)
    names = [wanted.scenario] if wanted.scenario else list(plays)
    if wanted.replay is not None:
        return _replayed(plays[names[0]], read(wanted.replay))
    return 1 if sum(_explored(name, plays[name], wanted.depth) for name in names) else 0


def read(text: str) -> Disturbances:
    """Return the disturbances that :func:`written` wrote."""
    pairs = (each.split("=") for each in text.split(",") if each)
    return {int(place): int(way) for place, way in pairs}


def written(disturbances: Disturbances) -> str:
    """Return disturbances as the option ``--replay`` has them."""
    return ",".join(f"{place}={way}" for place, way in disturbances.items())


def _explored(name: str, play: Play, depth: int) -> int:
    """Print what the runs of a scenario came to, and return how many broke a promise."""
    began, runs, broken = time.process_time(), 0, 0
    for disturbances, outcome in explore(play, depth):
        runs += 1
        if outcome.violation:
            broken += 1
            if broken == 1:
                _replayed(play, disturbances)
    print(f"{name:32} {runs:9,} runs, {broken} broken, {time.process_time() - began:.1f} s", flush=True)
    return broken


def _replayed(play: Play, disturbances: Disturbances) -> int:
    lines: list[str] = []
    outcome = play(Script(disturbances), lines)
    print("\n".join(lines), f"\n{written(disturbances)}: {outcome.violation or 'no violation'}")
    return 1 if outcome.violation else 0
