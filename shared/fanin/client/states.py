"""The states of batches that a process has read over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fanin.tracker import State
from fanin.tracker.model import ALIVE

FRESH_SECONDS = 5.0
"""The age at which a live batch is read again, by the monotonic or the wall clock."""
KEPT = 10_000


@dataclass(slots=True)
class States:
    """The states of batches, each with the times at which it was read; safe to share between threads.

    *read*: returns the state of a batch, or None if there is none. A final state is read once.
    """

    read: Callable[[str], State | None]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    known: dict[str, tuple[float, float, State]] = field(default_factory=dict, repr=False)

    def of(self, batch_id: str) -> State | None:
        """Return the state of a batch, at most five seconds old; None is asked for again at each call."""
        now, wall = self.clock(), self.wall()
        at, wall_at, state = self.known.get(batch_id, (now, wall, None))
        if state is not None and (state not in ALIVE or max(now - at, abs(wall - wall_at)) < FRESH_SECONDS):
            return state
        state = self.read(batch_id)
        if state is not None:
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[batch_id] = (now, wall, state)
        return state
