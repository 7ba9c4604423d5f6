"""One sequence of random calls, made by the four clients; whatever differs between them breaks a promise."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import patch

from fanin.tracker.memory import MemoryStore
from functions.wiring import deployed, tracking
from tests.agreement.calls import Call, answer_of, name_of
from tests.agreement.drawing import Drawing
from tests.agreement.worlds import ENVIRONMENT, World, worlds_of
from tests.simulating.room import Outcome, played
from tests.simulating.violation import require

CALLS = 36
SWITCHES = 0.12
"""How often another process works on, before a call."""
LAST = ("status", "outstanding", "failures")
"""What is read of each batch in the end."""
ROWS = ("tokens", "stretches", "stored_pages", "kept", "blocked", "origins", "confirmed")
"""What the stores hold beside batches; not the keys, which are fresh where none is given."""


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Make the calls of *seed*; *lines* takes each down, with the answer of the first client."""
    sequence = Sequence(seed, [] if lines is None else lines)
    with patch.dict(os.environ, ENVIRONMENT), asyncio.Runner() as runner:
        tracking.settings.cache_clear(), deployed.settings_file.cache_clear()
        violation = played(lambda: sequence.run(runner))
    tracking.settings.cache_clear(), deployed.settings_file.cache_clear()
    return Outcome(violation, events=sequence.answered)


class Sequence:
    """*answered*: how often each call was made, and how often one of that name was answered, not refused."""

    def __init__(self, seed: int, lines: list[str]) -> None:
        self.worlds = worlds_of(seed)
        self.drawing = Drawing(Random(f"calls {seed}"), self.worlds[0].backend)
        self.lines, self.answered = lines, Counter[str]()

    def run(self, runner: asyncio.Runner) -> None:
        """Make the calls, then compare all that is stored."""
        for _ in range(CALLS):
            if self.drawing.random.random() < SWITCHES:
                self._switch(self.drawing.switched())
            self._run(self.drawing.call(), runner)
        for batch_id in self.drawing.batches:
            for name in LAST:
                self._run(Call(name, (batch_id,)), runner)
        self._same("the events", lambda world: world.backend.events)
        self._same("the batches", lambda world: _batches(world.backend.store))
        for name in ROWS:
            self._same(f"the rows {name}", lambda world, name=name: getattr(world.backend.store, name))

    def _switch(self, pause: timedelta) -> None:
        self._same(f"another process, {pause} later", lambda world: world.switch(pause))

    def _run(self, call: Any, runner: asyncio.Runner) -> None:
        answer = self._same(str(call), lambda world: answer_of(world, call, runner))
        self.drawing.learn(answer)
        self.answered[name_of(call, answer)] += 1

    def _same(self, what: str, found: Callable[[World], Any]) -> Any:
        """Return what is found in each of the worlds. Raises Violation if that is not the same."""
        first, *others = self.worlds
        expected = found(first)
        self.lines.append(f"{what}\n    {expected}")
        for world in others:
            other = found(world)
            require(
                other == expected,
                "agreement",
                lambda world=world, other=other: (
                    f"{what}\n{first.name:>8}: {expected}\n{world.name:>8}: {other}"
                ),
            )
        return expected


def _batches(store: MemoryStore) -> dict[Any, Any]:
    """Return the rows of the batches without the names of callers, which differ by design."""
    return {key: replace(batch, completed_by=None) for key, batch in store.batches.items()}
