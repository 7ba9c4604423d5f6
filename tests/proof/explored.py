"""The stage ``exhaustive``: small scenarios with every placement of up to two disturbances."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from tests.proof.work import Chunk, Done, Part
from tests.simulating.exploring import Play, explore, written

STAGE = "exhaustive"
DEPTH = 2
ROOMS = {
    "tracker": "tests.simulation.exhaustive",
    "group-batcher": "tests.simulation_grouper.exhaustive",
    "work queue": "tests.simulation_queue.exhaustive",
    "seams": "tests.simulation_seams.exhaustive",
}


def parts() -> list[Part]:
    """Return a part for each room, with a chunk for each of its scenarios."""
    return [_part(name, module) for name, module in ROOMS.items()]


def _part(name: str, module: str) -> Part:
    scenarios = import_module(module).PLAYS
    chunks = (Chunk(scenario, partial(run, module, scenario)) for scenario in scenarios)
    return Part(STAGE, name, module, f"{len(scenarios)} scenarios, {DEPTH} disturbances", tuple(chunks))


def run(module: str, scenario: str, depth: int = DEPTH) -> Done:
    """Explore a scenario."""
    play: Play = import_module(module).PLAYS[scenario]
    command, done = f"python -m {module} --scenario {scenario!r}", Done()
    for disturbances, outcome in explore(play, depth):
        found, where = outcome.violation, written(disturbances)
        broken = [f"{scenario}: {found}\n  {command} --replay {where!r}"] if found else []
        requests, faults = outcome.requests.total(), outcome.faults.total()
        done.add(Done(1, requests, faults, violations=broken))
    return done
