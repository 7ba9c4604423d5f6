"""Finds the highest rate that a load reaches, and what refuses requests above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lab.scale_limits.cases import Case, Sends
from lab.scale_limits.partitions import IN_FLIGHT, Blame, Outcome, Partitions, Tables

SHORTEST, LONGEST, ITEMS = 5, 60, 12_000
"""Seconds of a run, which has so many items where that takes longer than the shortest."""
KEPT = 0.95
"""The share of a rate that is acked in a run that reaches it: some of the last second's are left."""
STEPS = 7
LOWEST = 100.0
WARM = 40e6
"""Write units a second of a table that is as warm as any load needs: only keys are a limit."""
Make = Callable[[str], Partitions]


@dataclass(frozen=True)
class Reached:
    """The highest *rate*, or what is taken just above it if that is less, and what refuses most there."""

    rate: float
    blame: Blame | None


def cold(_: str) -> Partitions:
    """Return a new table or index."""
    return Partitions()


def warm(_: str) -> Partitions:
    """Return a table or index that is warm enough."""
    return Partitions(WARM)


def run(sends: Sends, rate: float, make: Make, seconds: int = 0, in_flight: float = IN_FLIGHT) -> Outcome:
    """Send at *rate* to tables of a kind; by default for as long as the rate needs."""
    needed = max(SHORTEST, min(LONGEST, int(ITEMS / rate)))
    return Tables(make, in_flight=in_flight).run(sends(rate), seconds or needed)


def highest(sends: Sends, make: Make, most: float, in_flight: float) -> Reached:
    """Return the highest rate up to *most* that tables take, by halving."""
    low, high, blame, saturated = LOWEST, most, None, most
    if is_taken(run(sends, most, make, 0, in_flight), most):
        return Reached(most, None)
    for _ in range(STEPS):
        rate = (low * high) ** 0.5
        outcome = run(sends, rate, make, 0, in_flight)
        if is_taken(outcome, rate):
            low = rate
        else:
            high, blame = rate, outcome.first
            saturated = sum(outcome.rates[1:]) / len(outcome.rates[1:])
    return Reached(min(low, saturated), blame)


def is_taken(outcome: Outcome, rate: float) -> bool:
    """Return whether tables take *rate*: nearly all is acked, and no key has a long queue of requests."""
    return bool(sum(outcome.rates) >= KEPT * rate * len(outcome.rates) and outcome.backlog <= 1)


@dataclass(frozen=True)
class Rungs:
    """A case: what new tables take, what warm ones, and what with the move."""

    case: Case
    cold: Reached
    warm: Reached
    moved: Reached | None


def climb(case: Case) -> Rungs:
    """Return the rates of a case."""
    reach = partial(highest, most=case.most, in_flight=case.in_flight)
    moved = reach(case.then, warm) if case.then else None
    return Rungs(case, reach(case.sends, cold), reach(case.sends, warm), moved)
