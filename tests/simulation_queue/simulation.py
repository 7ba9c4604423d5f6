"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.simulating.faults import JUMPED
from tests.simulating.room import Outcome, played
from tests.simulating.violation import require
from tests.simulation_queue.crowd import Crowd
from tests.simulation_queue.deletions import Deletions
from tests.simulation_queue.idleness import Idleness
from tests.simulation_queue.namesakes import Namesakes
from tests.simulation_queue.operations import Operations
from tests.simulation_queue.referee import named
from tests.simulation_queue.revivals import Revivals
from tests.simulation_queue.takeover import Takeover
from tests.simulation_queue.world import World

SCENARIOS = {9: Takeover, 4: Namesakes, 7: Idleness, 2: Revivals, 8: Operations, 6: Deletions}
CROWDS = 1000
"""Of so many seeds one has a hundred workers."""
CROWDED = 56


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario, the schedule and the faults of *seed*; six of ten have a scenario of their own."""
    scenario = Crowd if seed % CROWDS == CROWDED else SCENARIOS.get(seed % 10, World)
    world = scenario(Random(seed), lines.append if lines is not None else None)
    violation = played(lambda: play_out(world))
    return Outcome(violation, world.network.requests, world.network.faults, world.events)


def play_out(world: World) -> None:
    """Run a world to its end, and check it."""
    try:
        world.run()
        check(world)
    finally:
        world.close()


def check(world: World) -> None:
    """Every accepted job ended once, with its outcome; every answer was true."""
    _check_records(world)
    _check_collisions(world)
    _check_outcomes(world)
    _check_answers(world)


def _check_records(world: World) -> None:
    referee = world.referee
    dead = {named(each.job) for dead_jobs in world.memory.dead_jobs.values() for each in dead_jobs.values()}
    for name, record in [*referee.records.items(), *referee.past]:
        if record.superseded:
            require(not record.ended, "Q2", f"{name} was replaced, and ended")
        else:
            require(record.ended == 1, "Q2", f"{name} ended {record.ended} times")
    for name, record in referee.records.items():
        as_it_was = record.superseded or (name in dead) == bool(record.died)
        require(as_it_was, "Q2", f"{name} died, and is not listed, or was not dead")


def _check_collisions(world: World) -> None:
    """Q10: where no request fails, each refused add counts as one collision."""
    if not world.unfinished and not world.network.faults.keys() - {JUMPED}:
        counted = world.network.requests["collide"]
        require(counted == world.events["refused"], "Q10", f"{counted} collisions were counted")


def _check_outcomes(world: World) -> None:
    referee, written = world.referee, [write["Put"] for write in world.memory.written]
    past = Counter(name for name, _ in referee.past)
    for name, times in Counter(write["job"] for write in written).items():
        require(times <= 1 + past[name], "Q2", f"the outcome of {name} was written {times} times")
        require(name in referee.records, "Q8", f"an outcome of {name}, which was not added")
    for write in written:
        require(
            referee.ended_by.get(write["claim"]) == write["job"], "Q3", f"an outcome without its ack: {write}"
        )


def _check_answers(world: World) -> None:
    referee = world.referee
    for claim in world.refused:
        require(claim not in referee.ended_by, "Q3", f"claim {claim} was called lost, and it was not")
    for claim in world.acked:
        require(claim in referee.ended_by, "Q2", f"claim {claim} was called acked, and it was not")
    for item, how in referee.to_report.items():
        reported = (how == "failed") in world.reported.get(item, set())
        require(reported, "report", f"it was not reported that {item} is {how}")
