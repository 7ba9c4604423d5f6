"""Runs many seeds of the simulation, or replays one: ``python -m tests.simulation.run --seeds 100000``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

from tests.simulation.simulation import Outcome, simulate
from tests.simulation.trace import Trace

CHUNK = 250
SECONDS_BETWEEN_LINES = 10.0
SHOWN_VIOLATIONS = 20


@dataclass(slots=True)
class Tally:
    """What a number of seeds came to."""

    seeds: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, str, str]] = field(default_factory=list)
    """(seed, invariant, what was found)."""

    def note(self, seed: int, outcome: Outcome) -> None:
        self.seeds += 1
        self.requests += outcome.requests
        self.faults += outcome.faults
        self.events += outcome.events
        if outcome.violation:
            self.violations.append((seed, outcome.violation.invariant, str(outcome.violation)))

    def add(self, other: Tally) -> None:
        self.seeds += other.seeds
        self.requests += other.requests
        self.faults += other.faults
        self.events += other.events
        self.violations += other.violations


def run_seeds(seeds: range, races: bool = False) -> Tally:
    """Simulate each of *seeds*."""
    tally = Tally()
    for seed in seeds:
        tally.note(seed, simulate(seed, races=races))
    return tally


def main(argv: list[str] | None = None) -> int:
    """0 where no promise was broken, 1 where one was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100_000, help="how many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run this one seed only")
    parser.add_argument("--races", action="store_true", help="small scenarios in which things meet")
    parser.add_argument("--trace", action="store_true", help="with --replay: print each request")
    wanted = parser.parse_args(argv)
    if wanted.replay is not None:
        return _replay(wanted.replay, wanted.trace, wanted.races)
    return _run(wanted.first, wanted.seeds, wanted.jobs, wanted.races)


def _replay(seed: int, traced: bool, races: bool) -> int:
    trace = Trace() if traced else None
    outcome = simulate(seed, trace, races)
    print("\n".join(trace.lines if trace else []))
    print(f"seed {seed}: {outcome.violation or 'no violation'}; {_listed(outcome.faults)}")
    return 1 if outcome.violation else 0


def _run(first: int, count: int, jobs: int, races: bool) -> int:
    began = shown = time.monotonic()
    tally = Tally()
    for part in _tallies(first, count, jobs, races):
        tally.add(part)
        for seed, _, found in part.violations[:SHOWN_VIOLATIONS]:
            kind = " --races" if races else ""
            print(f"seed {seed}: {found}\n  python -m tests.simulation.run{kind} --replay {seed} --trace")
        if time.monotonic() - shown > SECONDS_BETWEEN_LINES:
            shown = time.monotonic()
            print(f"{tally.seeds:,} seeds, {_summary(tally)}", flush=True)
    seconds = time.monotonic() - began
    print(f"seeds {first} to {first + count - 1} in {seconds:.1f} s ({count / seconds:,.0f} a second)")
    print(f"requests: {_listed(tally.requests)}")
    print(f"faults: {_listed(tally.faults)}")
    print(f"seen: {_listed(tally.events)}")
    print(f"violations: {_listed(Counter(invariant for _, invariant, _ in tally.violations))}")
    return 1 if tally.violations else 0


def _tallies(first: int, count: int, jobs: int, races: bool) -> Iterator[Tally]:
    end = first + count
    chunks = (range(start, min(start + CHUNK, end)) for start in range(first, end, CHUNK))
    run = partial(run_seeds, races=races)
    if jobs == 1:
        yield from map(run, chunks)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run, chunks)


def _summary(tally: Tally) -> str:
    return f"{tally.faults.total():,} faults, {len(tally.violations)} violations"


def _listed(counts: Counter[str]) -> str:
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    return f"{counts.total():,}" + (f" ({kinds})" if kinds else "")


if __name__ == "__main__":
    sys.exit(main())
