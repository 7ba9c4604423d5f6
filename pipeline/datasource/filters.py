"""The filters that Spark pushes to a reader of items: on the position, and on the state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fanin.tracker.rules.ids import TOTAL_MAX

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

STATES = ("outstanding", "succeeded", "failed")
_EQUAL = ("EqualTo", "EqualNullSafe")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted items: those at the positions *first* to *last*, both inclusive, that are in *states*."""

    states: frozenset[str]
    first: int = 0
    last: int = TOTAL_MAX

    def narrowed(self, pushed: Filter) -> Wanted | None:
        """Return the items of these that pass *pushed*; None if it is not of a known kind.

        The classes of filters are compared by name: Spark has them from 4.1 on.
        """
        kind, value = type(pushed).__name__, getattr(pushed, "value", None)
        match getattr(pushed, "attribute", None):
            case (_,) if kind == "IsNotNull":
                return self  # no column has nulls
            case ("state",):
                return self._in_state(kind, value)
            case ("position",):
                return self._at(kind, value)
        return None

    def _in_state(self, kind: str, value: Any) -> Wanted | None:
        named = {value} if kind in _EQUAL else set(value) if kind == "In" else None
        return None if named is None else replace(self, states=self.states & named)

    def _at(self, kind: str, value: Any) -> Wanted | None:
        if kind in _EQUAL:
            return self._within(value, value)
        bounds = {
            "GreaterThan": (1, None),
            "GreaterThanOrEqual": (0, None),
            "LessThan": (None, -1),
            "LessThanOrEqual": (None, 0),
        }
        if kind not in bounds:
            return None
        above, below = bounds[kind]
        return self._within(
            self.first if above is None else value + above, self.last if below is None else value + below
        )

    def _within(self, first: int, last: int) -> Wanted:
        return replace(self, first=max(self.first, first), last=min(self.last, last))

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether an item at the positions *first* to *last*, both inclusive, may be wanted."""
        return bool(self.states) and max(first, self.first) <= min(last, self.last)

    def is_any_of(self, states: Collection[str]) -> bool:
        """Return whether items in one of *states* are wanted."""
        return not self.states.isdisjoint(states)
