"""A run from a seed to its outcome."""

from __future__ import annotations

from random import Random

from tests.simulating.room import Outcome, played
from tests.simulation_parts.world import Raising
from tests.simulation_queue.simulation import play_out


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the schedule and the faults of *seed*."""
    world = Raising(Random(seed), lines.append if lines is not None else None)
    violation = played(lambda: play_out(world))
    world.events["marks deleted"] += world.table.deleted
    return Outcome(violation, world.network.requests, world.network.faults, world.events)
