"""The stage ``mutants``: each rule of each protocol, broken by hand, is found by its simulator."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from tests.proof.work import Chunk, Done, Part
from tests.simulating.mutants import first_kill, kill

STAGE = "mutants"
SEEDS = 2000
"""How many a mutant may survive."""
EQUIVALENT_SEEDS = 500
"""How many a mutant runs that breaks no promise."""
ROOMS = {
    "tracker": "tests.simulation",
    "group-batcher": "tests.simulation_grouper",
    "work queue": "tests.simulation_queue",
    "raised parts": "tests.simulation_parts",
    "seams": "tests.simulation_seams",
}


def parts() -> list[Part]:
    """Return a part for the mutants of each room, and one for those that break no promise."""
    return [part for name in ROOMS for part in _parts(name)]


def _parts(name: str) -> list[Part]:
    module = f"{ROOMS[name]}.mutants"
    room = import_module(module)
    broken = [Chunk(each.rule, partial(run, module, each.rule)) for each in room.MUTANTS]
    equivalent = [Chunk(each.rule, partial(run_equivalent, module, each.rule)) for each, _ in room.EQUIVALENT]
    found = [Part(STAGE, name, module, f"{len(broken)} broken rules", tuple(broken))]
    if equivalent:
        span = f"{len(equivalent)} rules that another one holds up"
        found.append(Part(STAGE, f"{name}, equivalent", module, span, tuple(equivalent)))
    return found


def run(module: str, rule: str) -> Done:
    """Break a rule; it is a violation that no seed finds it."""
    found = import_module(module)
    mutant = next(each for each in found.MUTANTS if each.rule == rule)
    alive = kill(found.ROOM, mutant, SEEDS) is None
    command = f"python -m {module} --rule {rule!r}"
    return Done(1, violations=[f"{rule}: no seed of {SEEDS} finds it\n  {command}"] if alive else [])


def run_equivalent(module: str, rule: str) -> Done:
    """Break a rule that another one holds up; it is a violation that a seed finds it."""
    found = import_module(module)
    mutant = next(each for each, _ in found.EQUIVALENT if each.rule == rule)
    killed = first_kill(found.ROOM, mutant, EQUIVALENT_SEEDS)
    return Done(1, violations=[f"{rule} is not equivalent: {killed.detail}"] if killed else [])
