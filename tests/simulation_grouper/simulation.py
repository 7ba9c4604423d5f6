"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from tests.simulation.violation import Violation
from tests.simulation_grouper import aftermath, scenario
from tests.simulation_grouper.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: the broken promise, if any, and what it met on its way."""

    violation: Violation | None
    requests: Counter[str]
    faults: Counter[str]
    events: Counter[str]


def simulate(seed: int, lines: list[str] | None = None, sweeping: bool = True) -> Outcome:
    """Run the scenario of *seed* under its own schedule and faults; *lines* takes each request down."""
    random = Random(seed)
    world = World(scenario.draw(random), random, lines)
    world.sweeping = sweeping
    return play(world)


def play(world: World) -> Outcome:
    """Run a world to its end, or to the first promise that breaks."""
    violation = _play_out(world)
    return Outcome(violation, world.network.requests, world.network.faults, _events(world))


def _play_out(world: World) -> Violation | None:
    try:
        world.run()
        aftermath.check(world)
    except Violation as found:
        return found
    except Exception as error:
        return Violation("error", f"{type(error).__name__}: {error}")
    return None


def _events(world: World) -> Counter[str]:
    """What kinds of things the run saw, to know that the simulation goes where it says."""
    events: Counter[str] = Counter()
    for task in world.referee.stored_tasks.values():
        events[f"tasks {task.state.lower()}"] += 1
    for bundle in world.referee.bundles.values():
        events["voids" if bundle.is_void else f"bundles {bundle.state.lower()}"] += 1
    events["calls"] = world.api.calls.total()
    events["done under two keys"] = sum(len(keys) > 1 for keys in world.api.done.values())
    events["dead letters"] = world.queues.dead
    events["calm runs"] = int(world.scenario.calm)
    return +events
