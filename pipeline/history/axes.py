"""Scales, round steps and tick marks of a chart's axes. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

CLOCK = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200)
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from *low* to *high* to coordinates from *first* to *last*; *high* is more than *low*."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first), 2)

    def holds(self, value: float | None) -> bool:
        return value is not None and self.low <= value <= self.high


def steps(high: float, about: int) -> list[float]:
    """Return round whole numbers from 0 to *high*, 1, 2 or 5 times a power of ten apart."""
    return _multiples(high, max(1.0, _round_up(high / about)))


def time_steps(high: float, about: int) -> list[float]:
    """Return round durations in seconds from 0 to *high*, in steps of clock units."""
    wanted = high / about
    step = next((step for step in CLOCK if step >= wanted), DAY * _round_up(wanted / DAY))
    return _multiples(high, wanted if wanted < CLOCK[0] else step)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)


def _multiples(high: float, step: float) -> list[float]:
    return [round(step * at, 9) for at in range(math.floor(high / step + 1e-9) + 1)]
