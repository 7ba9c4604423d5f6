"""A webhook: its queue is consumed by the production code, and its receiver fails now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fanin.callbacks.delivering import Deliverer
from fanin.errors import StoreUnavailable
from fanin.grouper.rules.downstream import Answer
from fanin.grouper.rules.model import Outcome, Verdict
from fanin.isolating import Record
from tests.simulating.violation import require
from tests.simulation_seams.scenario import WEBHOOK

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

FAILURES_MAX = 5
RETRY = Answer(Outcome(Verdict.RETRY, "busy"))


class Webhook:
    """*arrived*: how often each event was accepted. *failures*: how often it may still fail."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.arrived: Counter[str] = Counter()
        self.failures = world.random.randrange(FAILURES_MAX)

    def deliver(self, records: Sequence[Record]) -> dict[str, Any]:
        """Send the events of a delivery by the production code."""
        world = self.world
        deliverer = Deliverer(
            {WEBHOOK: self}, self._isolate, self._hide, now=world.now, jitter=world.random.random
        )
        return deliverer.deliver(records).response()

    def post(self, event_id: str, body: bytes) -> Answer:
        """Send an event; whether it arrived may stay unknown."""
        try:
            answer: Answer = self.world.network.send(self, "accept", event_id)
        except StoreUnavailable:
            return RETRY
        return answer

    def apply(self, name: str, args: tuple[Any, ...]) -> Answer:
        """Accept an event, or fail."""
        if self.failures and self.world.random.random() < 0.3:
            self.failures -= 1
            return RETRY
        self.arrived[args[0]] += 1
        return Answer()

    def _isolate(self, records: Sequence[Record]) -> Collection[str]:
        require(False, "callbacks", f"{records} are given up within a day")
        return ()

    def _hide(self, _: str, pauses: Mapping[str, int]) -> None:
        """Hide messages as the product does: one that cannot be hidden is logged."""
        with suppress(StoreUnavailable):
            self.world.network.send(self.world.hooks, "hide", pauses)
