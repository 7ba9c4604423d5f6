"""The client's transport in this process, which also notes for the referee which acks were answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fanin.client.task_model import NewTask, Registered
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.reports import AckReport
from fanin.tracker import Ack, Outcome, Verdict
from tests.simulation_seams.scenario import TASK, TENANT

STORED = {Verdict.ACCEPTED, Verdict.DUPLICATE}


@dataclass(frozen=True, slots=True)
class Transport(DirectTransport):
    """Calls the tracker, and the tasks of *world*, which a direct transport of the product does not have."""

    world: Any = field(default=None)

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        report = self._acked(acks, key)
        singles, ranges = iter(report.results), iter(report.ranges)
        counts = [{next(singles).verdict: 1} if ack.size == 1 else next(ranges).counts for ack in acks]
        for ack, count in zip(acks, counts, strict=True):
            if ack.outcome is Outcome.SUCCESS and set(count) <= STORED:
                self.world.outside.answered(ack)
        return report

    def _acked(self, acks: Sequence[Ack], key: str | None) -> AckReport:
        """Ack, while the referee can see what the request of the running actor asks for."""
        actor = self.world.loop.actor
        actor.acking = acks
        try:
            return DirectTransport.ack(self, acks, key)
        finally:
            actor.acking = ()

    def register(self, task: NewTask, key: str) -> Registered:
        name = task.task_id or key
        self.world.network.send(self.world.outside, "register", TASK, name, str(task.item_id))
        return Registered(name, "CREATED")


def transport_of(world: Any, tracker: Any) -> Transport:
    """Return the transport of one process."""
    return Transport(tracker, TENANT, world)
