"""The states of batches that a process has read over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fanin.tracker import Outcome, State, Verdict
from fanin.tracker.rules.model import ALIVE

if TYPE_CHECKING:
    from fanin.client.transports.reports import AckReport
    from fanin.tracker import Ack

FRESH_SECONDS = 5.0
"""The age at which a live batch is read again, by the monotonic or the wall clock."""
KEPT = 10_000
REFUSED = {Verdict.LATE, Verdict.CANCELLED, Verdict.EXPIRED}
"""The verdicts of acks that came after the end of their batch."""


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
            self.note(batch_id, state)
        return state

    def note(self, batch_id: str, state: State) -> None:
        """Keep the state of a batch that was read now."""
        if len(self.known) >= KEPT:
            self.known.clear()
        self.known[batch_id] = (self.clock(), self.wall(), state)

    def forget(self, batch_ids: Iterable[str]) -> None:
        """Read the states of batches again when they are asked for: requests of this process may end them."""
        for batch_id in batch_ids:
            self.known.pop(batch_id, None)


def may_have_ended(acks: Sequence[Ack], report: AckReport) -> set[str]:
    """Return the batches that *acks* may have ended, or whose end *report* shows."""
    failed = {ack.batch_id for ack in acks if ack.outcome is Outcome.FAILURE}
    completed = {completion.batch_id for completion in report.completions}
    late = {each.item_id.partition(":")[0] for each in report.results if each.verdict in REFUSED}
    late |= {each.batch_id for each in report.ranges if not REFUSED.isdisjoint(each.counts)}
    return failed | completed | late
