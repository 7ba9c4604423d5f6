"""What ``make proof`` runs: stages of parts, each a row of the table, in chunks for one process each."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module

from tests.histories.run import judge
from tests.proof.results import ROOT
from tests.simulating.exploring import explore, written
from tests.simulating.mutants import first_kill, kill
from tests.simulating.run import run_seeds

ROOMS = {
    "tracker": "tests.simulation",
    "group-batcher": "tests.simulation_grouper",
    "work queue": "tests.simulation_queue",
    "raised parts": "tests.simulation_parts",
    "seams": "tests.simulation_seams",
}
SEEDS = {
    "tracker": (360_000, 1000),
    "tracker's races": (90_000, 1000),
    "group-batcher": (450_000, 1000),
    "seams": (80_000, 500),
    "work queue": (15_000, 100),
    "raised parts": (5_000, 50),
}
"""Seeds of a million, and how many are run in one go, a few seconds' worth."""
HISTORIES = {"tracker": (30_000, 500), "grouper": (15_000, 500), "queue": (5_000, 100)}
"""Histories of 50,000, and how many are checked in one go."""
DEPTH, SURVIVED, EQUIVALENT = 2, 2000, 500
"""Disturbances of a scenario; seeds that a mutant may survive, and that an equivalent one runs."""
COMMANDS = {
    "races": ("1,000 rounds of each race over HTTP", ["-m", "lab.local.races"]),
    "examples": (
        "tests marked proof, properties with 2,000 examples",
        ["-m", "pytest", "-q", "-n", "2", "-m", "proof or hypothesis", "--hypothesis-profile=proof"],
    ),
}


@dataclass(slots=True)
class ChunkOutcome:
    """What a chunk or a part came to. *violations*: texts with the command that replays them."""

    runs: int = 0
    requests: int = 0
    faults: int = 0
    cpu: float = 0.0
    violations: list[str] = field(default_factory=list)

    def add(self, other: ChunkOutcome) -> None:
        for each in fields(ChunkOutcome):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class Part:
    """One row: *span* says what the runs are, in a few characters."""

    stage: str
    what: str
    chunks: list[Callable[[], ChunkOutcome]]


def parts(stage: str, seeds: int, histories: int) -> list[Part]:
    """Return the parts of a stage, of so many seeds of all simulators, or histories of all capabilities."""
    found = {
        "seeds": lambda: (_seeds(name, seeds) for name in SEEDS),
        "exhaustive": lambda: (_explored(name) for name in ROOMS if name != "raised parts"),
        "histories": lambda: (_histories(name, histories) for name in HISTORIES),
        "mutants": lambda: (part for name in ROOMS for part in _mutants(name)),
    }
    if stage in found:
        return list(found[stage]())
    what, arguments = COMMANDS[stage]
    return [Part(stage, f"{stage}: {what}", [partial(run_command, arguments)])]


def timed(chunk: Callable[[], ChunkOutcome]) -> ChunkOutcome:
    """Run a chunk, and note its CPU time."""
    began = time.process_time()
    outcome = chunk()
    outcome.cpu = outcome.cpu or time.process_time() - began
    return outcome


def _spans(share: int, whole: int, total: int, chunk: int) -> Iterator[tuple[int, int]]:
    count = share * total // whole
    return ((first, min(chunk, count - first)) for first in range(0, count, chunk))


def _seeds(name: str, total: int) -> Part:
    share, chunk = SEEDS[name]
    races = name.endswith("races")
    module = ROOMS["tracker" if races else name] + ".run"
    spans = list(_spans(share, sum(each for each, _ in SEEDS.values()), total, chunk))
    chunks = [partial(run_simulator, module, races, *span) for span in spans]
    return Part("seeds", f"{name}: seeds 0 to {sum(spans[-1]) - 1:,}", chunks)


def _histories(name: str, total: int) -> Part:
    share, chunk = HISTORIES[name]
    spans = list(_spans(share, sum(each for each, _ in HISTORIES.values()), total, chunk))
    chunks = [partial(run_histories, name, *span) for span in spans]
    return Part("histories", f"{name}: histories of seeds 0 to {sum(spans[-1]) - 1:,}", chunks)


def _explored(name: str) -> Part:
    module = f"{ROOMS[name]}.exhaustive"
    plays = import_module(module).PLAYS
    what = f"{name}: {len(plays)} scenarios, {DEPTH} disturbances"
    return Part("exhaustive", what, [partial(run_scenario, module, each) for each in plays])


def _mutants(name: str) -> Iterator[Part]:
    module = f"{ROOMS[name]}.mutants"
    room = import_module(module)
    rules = [each.rule for each in room.MUTANTS]
    chunks = [partial(run_mutant, module, rule) for rule in rules]
    yield Part("mutants", f"{name}: {len(rules)} broken rules", chunks)
    if room.EQUIVALENT:
        chunks = [partial(run_equivalent, module, each.rule) for each, _ in room.EQUIVALENT]
        yield Part("mutants", f"{name}, equivalent: {len(chunks)} rules that another one holds up", chunks)


def run_simulator(module: str, races: bool, first: int, seeds: int) -> ChunkOutcome:
    """Run some seeds of a simulator."""
    command = f"python -m {module}{' --races' if races else ''} --replay {{}} --trace"
    return _tallied(import_module(module).ROOM.way(races), first, seeds, command)


def run_histories(of: str, first: int, seeds: int) -> ChunkOutcome:
    """Record some histories, and check them."""
    command = f"python -m tests.histories.run --of {of} --replay {{}}"
    return _tallied(partial(judge, of), first, seeds, command)


def _tallied(simulate: Callable[..., object], first: int, seeds: int, command: str) -> ChunkOutcome:
    tally = run_seeds(simulate, range(first, first + seeds))  # type: ignore[arg-type]
    violations = [f"seed {seed}: {text}\n  {command.format(seed)}" for seed, _, text in tally.violations]
    return ChunkOutcome(tally.seeds, tally.requests.total(), tally.faults.total(), violations=violations)


def run_scenario(module: str, scenario: str, depth: int = DEPTH) -> ChunkOutcome:
    """Run a small scenario with every placement of so many disturbances."""
    command, chunk_outcome = f"python -m {module} --scenario {scenario!r}", ChunkOutcome()
    for disturbances, outcome in explore(import_module(module).PLAYS[scenario], depth):
        found, where = outcome.violation, written(disturbances)
        broken = [f"{scenario}: {found}\n  {command} --replay {where!r}"] if found else []
        chunk_outcome.add(
            ChunkOutcome(1, outcome.requests.total(), outcome.faults.total(), violations=broken)
        )
    return chunk_outcome


def run_mutant(module: str, rule: str) -> ChunkOutcome:
    """Break a rule; it is a violation that no seed finds it."""
    found = import_module(module)
    mutant = next(each for each in found.MUTANTS if each.rule == rule)
    alive = kill(found.ROOM, mutant, SURVIVED) is None
    command = f"python -m {module} --rule {rule!r}"
    return ChunkOutcome(
        1, violations=[f"{rule}: no seed of {SURVIVED} finds it\n  {command}"] if alive else []
    )


def run_equivalent(module: str, rule: str) -> ChunkOutcome:
    """Break a rule that another one holds up; it is a violation that a seed finds it."""
    found = import_module(module)
    mutant = next(each for each, _ in found.EQUIVALENT if each.rule == rule)
    killed = first_kill(found.ROOM, mutant, EQUIVALENT)
    return ChunkOutcome(1, violations=[f"{rule} is not equivalent: {killed.detail}"] if killed else [])


def run_command(arguments: list[str]) -> ChunkOutcome:
    """Run a command of Python, whose output is shown; it is a violation that it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed = [f"python {' '.join(arguments)} exited with {ended.returncode}"] if ended.returncode else []
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ChunkOutcome(1, cpu=cpu, violations=failed)
