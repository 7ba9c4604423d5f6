"""A bill: counted units at list prices, by service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fanin.cost.prices import PRICES, Price


@dataclass(frozen=True, slots=True)
class Usage:
    """Counted units of a month, by the names in ``PRICES``."""

    units: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(self.units.keys() - PRICES.keys())
        if unknown:
            raise KeyError(f"no price for {', '.join(unknown)}")

    def __add__(self, other: Usage) -> Usage:
        names = self.units.keys() | other.units.keys()
        return Usage({name: self.units.get(name, 0) + other.units.get(name, 0) for name in names})

    def __sub__(self, other: Usage) -> Usage:
        return self + other.times(-1)

    def times(self, count: float) -> Usage:
        """Return the units of *count* repetitions."""
        return Usage({name: amount * count for name, amount in self.units.items()})


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a bill: *amount* units at *price*."""

    price: Price
    amount: float

    @property
    def dollars(self) -> float:
        """Return the amount in dollars."""
        return self.amount * self.price.per_unit


@dataclass(frozen=True, slots=True)
class Bill:
    """The lines of a *usage*, in the order of ``PRICES``."""

    usage: Usage

    @property
    def lines(self) -> list[Line]:
        """Return a line for each unit that is used."""
        units = self.usage.units
        return [Line(price, units[name]) for name, price in PRICES.items() if units.get(name)]

    @property
    def dollars(self) -> float:
        """Return the total."""
        return _total(self.lines)

    def by_service(self) -> dict[str, float]:
        """Return the dollars of each service."""
        services = {line.price.service for line in self.lines}
        return {
            name: _total(line for line in self.lines if line.price.service == name)
            for name in sorted(services)
        }


def _total(lines: Iterable[Line]) -> float:
    return sum(line.dollars for line in lines)
