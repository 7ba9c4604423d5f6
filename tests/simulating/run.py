"""Runs many seeds of a simulator, or replays one: the command line that all of them have."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

from tests.simulating.room import Outcome, Room, Simulate

CHUNK = 100
SECONDS_BETWEEN_LINES = 10.0
SHOWN_VIOLATIONS = 20


@dataclass(slots=True)
class Tally:
    """What a number of seeds came to. *violations*: (seed, invariant, what was found)."""

    seeds: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, str, str]] = field(default_factory=list)

    def note(self, seed: int, outcome: Outcome) -> None:
        found = outcome.violation
        violations = [(seed, found.invariant, str(found))] if found else []
        self.add(Tally(1, outcome.requests, outcome.faults, outcome.events, violations))

    def add(self, other: Tally) -> None:
        self.seeds += other.seeds
        self.requests.update(other.requests)
        self.faults.update(other.faults)
        self.events.update(other.events)
        self.violations += other.violations


def run_seeds(simulate: Simulate, seeds: Iterable[int]) -> Tally:
    """Simulate each of *seeds*."""
    tally = Tally()
    for seed in seeds:
        tally.note(seed, simulate(seed))
    return tally


def drive(room: Room, argv: list[str] | None = None) -> int:
    """0 where no promise was broken, 1 where one was."""
    wanted = _parser(room).parse_args(argv)
    races = room.race is not None and wanted.races
    if wanted.replay is not None:
        return _replay(room.way(races), wanted.replay, wanted.trace)
    command = f"python -m {room.package}.run{' --races' if races else ''}"
    return _run(room.way(races), range(wanted.first, wanted.first + wanted.seeds), wanted.jobs, command)


def _parser(room: Room) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {room.package}.run",
        allow_abbrev=False,
        description="Runs many seeds of the simulation, or replays one.",
    )
    parser.add_argument("--seeds", type=int, default=100_000, help="how many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run this one seed only")
    parser.add_argument("--trace", action="store_true", help="with --replay: print each request")
    if room.race:
        parser.add_argument("--races", action="store_true", help="small scenarios in which things meet")
    return parser


def _replay(simulate: Simulate, seed: int, traced: bool) -> int:
    lines: list[str] | None = [] if traced else None
    outcome = simulate(seed, lines)
    print("\n".join(lines or []))
    print(f"seed {seed}: {outcome.violation or 'no violation'}; faults: {_listed(outcome.faults)}")
    return 1 if outcome.violation else 0


def _run(simulate: Simulate, seeds: range, jobs: int, command: str) -> int:
    began = shown = time.monotonic()
    tally = Tally()
    for part in _tallies(simulate, seeds, jobs):
        _show(part, command, at_most=SHOWN_VIOLATIONS - len(tally.violations))
        tally.add(part)
        if time.monotonic() - shown > SECONDS_BETWEEN_LINES:
            shown = time.monotonic()
            faults, broken = tally.faults.total(), len(tally.violations)
            print(f"{tally.seeds:,} seeds, {faults:,} faults, {broken} violations", flush=True)
    seconds = time.monotonic() - began
    print(
        f"seeds {seeds.start} to {seeds.stop - 1} in {seconds:.1f} s ({len(seeds) / seconds:,.0f} a second)"
    )
    print(f"requests: {_listed(tally.requests)}")
    print(f"faults: {_listed(tally.faults)}")
    print(f"seen: {_listed(tally.events)}")
    print(f"violations: {_listed(Counter(invariant for _, invariant, _ in tally.violations))}")
    return 1 if tally.violations else 0


def _show(part: Tally, command: str, at_most: int) -> None:
    for seed, _, found in part.violations[: max(0, at_most)]:
        print(f"seed {seed}: {found}\n  {command} --replay {seed} --trace", flush=True)


def _tallies(simulate: Simulate, seeds: range, jobs: int) -> Iterator[Tally]:
    chunks = (seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK))
    run = partial(run_seeds, simulate)
    if jobs == 1:
        yield from map(run, chunks)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run, chunks)


def _listed(counts: Counter[str]) -> str:
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    return f"{counts.total():,}" + (f" ({kinds})" if kinds else "")
