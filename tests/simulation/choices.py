"""Who goes next, what fails, which stalled copy lands: every decision of a run, drawn from a seed."""

from __future__ import annotations

from random import Random
from typing import Protocol

from tests.simulating.faults import ON_TRANSACTIONS, Fault


class Choices(Protocol):
    """Decides what a schedule leaves open."""

    def actor(self, count: int) -> int:
        """Which of *count* actors takes its next step; number 0 took the last one."""

    def fault(self, request: str, possible: tuple[Fault, ...]) -> Fault | None:
        """What happens to a request of that name, if anything does."""

    def landing(self, count: int) -> int | None:
        """Which of *count* stalled copies lands before the next step, if any does."""


class RandomChoices:
    """Draws everything; each seed has its own rate of faults, its own kinds of them, and a last one.

    *struck*: requests of one name that meet one fault half of the time, while nothing befalls the others.
    """

    def __init__(self, random: Random, struck: tuple[str, Fault] | None = None) -> None:
        self._struck = struck
        self._draw = random.random
        self._rate = random.choice((0.0, 0.05, 0.1, 0.2, 0.3, 0.5))
        self._remaining = random.choice((5, 20, 40, 60))
        share = random.choice((0.2, 0.5, 1.0))
        self._kinds = {fault for fault in ON_TRANSACTIONS if random.random() < share}
        self._enabled: dict[tuple[Fault, ...], tuple[Fault, ...]] = {}
        self._landing_rate = random.choice((0.02, 0.1, 0.4))

    def actor(self, count: int) -> int:
        return int(self._draw() * count)

    def fault(self, request: str, possible: tuple[Fault, ...]) -> Fault | None:
        if self._struck:
            name, fault = self._struck
            return fault if request == name and self._draw() < 0.5 else None
        if self._remaining <= 0 or self._draw() >= self._rate:
            return None
        kinds = self._of(possible)
        if not kinds:
            return None
        self._remaining -= 1
        return kinds[int(self._draw() * len(kinds))]

    def landing(self, count: int) -> int | None:
        return int(self._draw() * count) if self._draw() < self._landing_rate else None

    def _of(self, possible: tuple[Fault, ...]) -> tuple[Fault, ...]:
        if possible not in self._enabled:
            self._enabled[possible] = tuple(fault for fault in possible if fault in self._kinds)
        return self._enabled[possible]
