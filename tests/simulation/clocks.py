"""The clocks of a run's processes, which are apart and may jump, as those of machines do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random


class Clocks:
    """*skew*: how far a clock is from the true time of *now*, at most; *jumps*: how often one is set anew."""

    def __init__(self, random: Random, now: Callable[[], datetime], skew: timedelta) -> None:
        self._random, self._now, self._skew = random, now, skew
        self._errors: list[timedelta] = []
        self.jumps = random.choice((0, 1, 3)) if skew else 0

    def new(self) -> Callable[[], datetime]:
        """Return the clock of another machine."""
        if not self._skew:
            return self._now
        number = len(self._errors)
        self._errors.append(self._drawn())
        return lambda: self._now() + self._errors[number]

    def pass_time(self) -> None:
        """Let a clock jump, forwards or back, now and then."""
        if self.jumps and self._errors and self._random.random() < 0.02:
            self.jumps -= 1
            self._errors[int(self._random.random() * len(self._errors))] = self._drawn()

    def _drawn(self) -> timedelta:
        return self._skew * (2 * self._random.random() - 1)
