"""The stage ``seeds``: a million seeds of the five simulators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module

from tests.proof.work import Chunk, Done, Part
from tests.simulating.room import Room
from tests.simulating.run import run_seeds

STAGE = "seeds"


@dataclass(frozen=True, slots=True)
class Simulator:
    """*share*: its seeds of a million; *chunk*: how many are run in one go, a few seconds' worth."""

    name: str
    module: str
    share: int
    chunk: int
    races: bool = False


SIMULATORS = (
    Simulator("tracker", "tests.simulation.run", 360_000, 1000),
    Simulator("tracker's races", "tests.simulation.run", 90_000, 1000, races=True),
    Simulator("group-batcher", "tests.simulation_grouper.run", 450_000, 1000),
    Simulator("seams", "tests.simulation_seams.run", 80_000, 500),
    Simulator("work queue", "tests.simulation_queue.run", 15_000, 100),
    Simulator("raised parts", "tests.simulation_parts.run", 5_000, 50),
)


def parts(total: int) -> list[Part]:
    """Return the simulators with *total* seeds in all."""
    return [_part(each, each.share * total // sum(one.share for one in SIMULATORS)) for each in SIMULATORS]


def _part(simulator: Simulator, seeds: int) -> Part:
    firsts = range(0, seeds, simulator.chunk)
    sizes = [min(simulator.chunk, seeds - first) for first in firsts]
    chunks = (
        Chunk(f"{first}+{size}", partial(run, simulator.module, simulator.races, first, size))
        for first, size in zip(firsts, sizes, strict=True)
    )
    return Part(STAGE, simulator.name, simulator.module, f"seeds 0 to {seeds - 1:,}", tuple(chunks))


def run(module: str, races: bool, first: int, seeds: int) -> Done:
    """Run some seeds of a simulator."""
    room: Room = import_module(module).ROOM
    tally = run_seeds(room.way(races), range(first, first + seeds))
    command = f"python -m {module}{' --races' if races else ''}"
    return Done(
        tally.seeds,
        tally.requests.total(),
        tally.faults.total(),
        violations=[
            f"seed {seed}: {text}\n  {command} --replay {seed} --trace" for seed, _, text in tally.violations
        ],
    )
