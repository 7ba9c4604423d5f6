"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.simulating.room import Outcome, played
from tests.simulation_grouper import aftermath, scenario
from tests.simulation_grouper.expiring import Expiring
from tests.simulation_grouper.world import World

EXPIRING_EVERY = 10


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario of *seed* under its own schedule and faults; *lines* takes each request down.

    In every tenth, tasks and bundles expire.
    """
    random = Random(seed)
    world = Expiring if seed % EXPIRING_EVERY == 4 else World
    return play(world(scenario.draw(random), random, lines))


def play(world: World) -> Outcome:
    """Run a world to its end, or to the first promise that breaks."""
    violation = played(world.run, lambda: aftermath.check(world))
    return Outcome(violation, world.network.requests, world.network.faults, _events(world))


def _events(world: World) -> Counter[str]:
    """What kinds of things the run saw, to know that the simulation goes where it says."""
    events: Counter[str] = Counter()
    for task in world.referee.seen_tasks.values():
        events[f"tasks {task.state.lower()}"] += 1
    events.update(world.events)
    for bundle in world.referee.bundles.values():
        events["voids" if bundle.is_void else f"bundles {bundle.state.lower()}"] += 1
    events["calls"] = world.api.calls.total()
    events["done under two keys"] = sum(len(keys) > 1 for keys in world.api.outcomes.values())
    events["dead-letter messages"] = world.queues.dead
    events["calm runs"] = int(world.calm)
    return +events
