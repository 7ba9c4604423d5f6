"""A table's time to live: what expired is deleted soon, late or never, by the table's own clock."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from random import Random

EARLY, LATE, NEVER, MIXED = "early", "late", "never", "mixed"
KINDS = (EARLY, LATE, NEVER, MIXED)


@dataclass
class TimeToLive:
    """Draws for each row when it is deleted. Moments are seconds; from when on, is the simulator's choice.

    *kind*: when a run's rows go. EARLY: up to *ahead* seconds before readers' clocks say so, as the clock of
    the table may be ahead, and its seconds are whole. LATE: within *late* seconds after. NEVER: not in this
    run. MIXED: each row in one of these ways. *deleted* counts. A row that was written again, and expires at
    another moment, is drawn anew.
    """

    random: Random
    kind: str
    ahead: float
    late: float
    deleted: int = 0
    _drawn: dict[tuple[Hashable, float], float | None] = field(default_factory=dict)

    @classmethod
    def draw(cls, random: Random, ahead: float, late: float) -> TimeToLive:
        """One of the kinds; pass a Random of its own where a seed's other draws must stay what they were."""
        return cls(random, random.choice(KINDS), ahead, late)

    def due(self, rows: Mapping[Hashable, float], now: float) -> list[Hashable]:
        """Those of *rows*, by the moments at which they expire, that the table deletes by *now*."""
        return [key for key, expires in rows.items() if self._is_due(key, expires, now)]

    def _is_due(self, key: Hashable, expires: float, now: float) -> bool:
        if now < expires - self.ahead:
            return False
        if (key, expires) not in self._drawn:
            self._drawn[key, expires] = self._moment(expires)
        at = self._drawn[key, expires]
        due = at is not None and at <= now
        self.deleted += due
        return due

    def _moment(self, expires: float) -> float | None:
        kind = self.random.choice((EARLY, LATE, NEVER)) if self.kind == MIXED else self.kind
        if kind == NEVER:
            return None
        return expires + self.random.random() * (-self.ahead if kind == EARLY else self.late)
