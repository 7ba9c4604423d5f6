"""Breaks a protocol, one rule at a time, and counts the seeds until the simulation notices.

A rule whose loss goes unnoticed is either tested too weakly or held up by another rule: a simulator lists the
latter as equivalent, with the reason.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tests.simulating.kills import known_seeds, write
from tests.simulating.room import Room

Change = tuple[Any, str, Any]
"""An owner, the name of an attribute of it, and what stands there instead."""


class Mutant:
    """A rule, by its name or by its breach, and how to do without it: by *changes*, for a time.

    *since*: the seed to begin with, for a rule whose loss shows seldom.
    """

    def __init__(self, rule: str, *changes: Change, since: int = 0) -> None:
        self.rule, self.changes, self.since = rule, changes, since

    @contextmanager
    def alive(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, broken in self.changes:
                stack.enter_context(patch.object(owner, name, broken, create=not hasattr(owner, name)))
            yield


Equivalent = tuple[Mutant, str]
"""A mutant that breaks no promise, and the reason."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The first seed that noticed a mutant, and the invariant that broke; *races*: in its race."""

    seed: int
    races: bool
    invariant: str
    detail: str


Search = Callable[[Room, Mutant, int], Kill | None]


def first_kill(room: Room, mutant: Mutant, seeds: int) -> Kill | None:
    """Run so many seeds against a mutant, from its own first one on, until one of them breaks a promise."""
    with mutant.alive():
        kills = (killed_by(room, seed) for seed in range(mutant.since, mutant.since + seeds))
        return next((kill for kill in kills if kill), None)


def kill(room: Room, mutant: Mutant, seeds: int) -> Kill | None:
    """Run the seed that is known to notice *mutant*, those of other rules, and then all others."""
    known = known_seeds(room)
    with mutant.alive():
        tried = dict.fromkeys([known.get(mutant.rule, mutant.since), *known.values()])
        found = next((kill for seed in tried if (kill := killed_by(room, seed))), None)
    return found or first_kill(room, mutant, seeds)


def killed_by(room: Room, seed: int) -> Kill | None:
    """Run one seed, and its race where the simulator has races; None if no promise breaks."""
    for races in (False, True) if room.race else (False,):
        violation = room.way(races)(seed).violation
        if violation:
            return Kill(seed, races, violation.invariant, str(violation))
    return None


def drive(
    room: Room, mutants: Sequence[Mutant], equivalent: Sequence[Equivalent], argv: list[str] | None = None
) -> int:
    """0 where every mutant was killed, and none of the equivalent ones."""
    wanted = _parser(room).parse_args(argv)
    chosen = [mutant for mutant in mutants if wanted.rule in mutant.rule]
    search = kill if wanted.write else first_kill
    kills = {mutant.rule: _report(room, mutant, wanted.seeds, search=search) for mutant in chosen}
    alive = [rule for rule, kill in kills.items() if not kill]
    if wanted.write:
        write(room, known_seeds(room) | {rule: kill.seed for rule, kill in kills.items() if kill})
    print("\nequivalent:")
    idle = [(mutant, reason) for mutant, reason in equivalent if wanted.rule in mutant.rule]
    few = wanted.equivalent_seeds
    refuted = [mutant.rule for mutant, reason in idle if _report(room, mutant, few, reason)]
    print(f"\n{len(chosen) - len(alive)} of {len(chosen)} killed; alive: {alive}; not equivalent: {refuted}")
    return 1 if alive or refuted else 0


def _parser(room: Room) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {room.package}.mutants",
        description="Breaks one rule at a time, and prints the seed that fails.",
    )
    parser.add_argument("--seeds", type=int, default=2000, help="how many each mutant may survive")
    parser.add_argument("--rule", "--only", default="", help="only rules that contain this")
    parser.add_argument("--equivalent-seeds", type=int, default=500, help="how many the equivalent ones run")
    parser.add_argument("--write", action="store_true", help="write kills.json; seeds that still kill stay")
    return parser


def _report(
    room: Room, mutant: Mutant, seeds: int, reason: str = "", search: Search = first_kill
) -> Kill | None:
    """Print the outcome of a mutant, and return how it was killed."""
    began = time.monotonic()
    found = search(room, mutant, seeds)
    result = f"survives {seeds} seeds; {reason}"
    if found:
        result = f"{'race' if found.races else 'seed'} {found.seed:<4} {found.detail[:70]}"
    print(f"{mutant.rule}:".ljust(62), result, f"({time.monotonic() - began:.1f} s)", flush=True)
    return found
