"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.simulating.room import Outcome, played
from tests.simulating.violation import require
from tests.simulation_queue.takeover import Takeover
from tests.simulation_queue.world import World

TAKEOVER_EVERY = 10


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario, the schedule and the faults of *seed*; every tenth is a takeover."""
    scenario = Takeover if seed % TAKEOVER_EVERY == TAKEOVER_EVERY - 1 else World
    world = scenario(Random(seed), lines.append if lines is not None else None)
    violation = played(lambda: _play_out(world))
    return Outcome(violation, world.network.requests, world.weather.faults, world.events)


def _play_out(world: World) -> None:
    try:
        world.run()
        check(world)
    finally:
        world.close()


def check(world: World) -> None:
    """Every accepted job ended once, with its outcome; every answer was true."""
    referee, memory = world.referee, world.memory
    dead = {name for graves in memory.dead_jobs.values() for name in graves}
    outcomes = Counter(write["job"] for write in memory.written)
    for name, life in referee.lives.items():
        if life.superseded:
            require(not life.ended, "Q2", f"{name} was replaced, and ended")
        else:
            require(life.ended == 1, "Q2", f"{name} ended {life.ended} times")
            require(
                (name in dead) == bool(life.died), "Q2", f"{name} died, and is not listed, or was not dead"
            )
    for name, times in outcomes.items():
        require(times == 1, "Q2", f"the outcome of {name} was written {times} times")
        require(name in referee.lives, "Q8", f"an outcome of {name}, which nobody added")
    for write in memory.written:
        require(
            referee.ended_by.get(write["claim"]) == write["job"], "Q3", f"an outcome without its ack: {write}"
        )
    for claim in world.refused:
        require(claim not in referee.ended_by, "Q3", f"claim {claim} was called lost, and it was not")
    for claim in world.acked:
        require(claim in referee.ended_by, "Q2", f"claim {claim} was called acked, and it was not")
    for item, how in referee.to_tell.items():
        require(
            (how == "failed") in world.told.get(item, set()), "tell", f"nobody was told that {item} is {how}"
        )
