"""The store, the queues and the owners of items as a process sees them: over a network with faults."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from tests.simulating import network
from tests.simulating.faults import ON_READS, ON_TRANSACTIONS, ON_WRITES, Crash, Fault, Faults
from tests.simulating.loop import Loop
from tests.simulating.network import Request
from tests.simulation.possible import POSSIBLE
from tests.simulation.trace import brief
from tests.simulation_seams.scenario import Scenario
from tests.simulation_seams.tables import Store

READS = {"task_token", "origin_ranges", "get_object", "list_objects"}
TRANSACTIONS = {"create_reopened", "report", "record_ack_time", "drop_token", "delete", "block_samples"}
ANSWERED = frozenset({"delete", "hide", "take", "drop", "keep"})
"""Requests to a queue, of which a copy that lands late has no effect."""
QUICK = 0.95


def possible(name: str) -> tuple[Fault, ...]:
    """Return the faults that a request can meet; those of the tracker's are the tracker's own."""
    if name in POSSIBLE:
        return POSSIBLE[name]
    if name in READS:
        return ON_READS
    if name in ANSWERED:
        return tuple(fault for fault in ON_WRITES if not fault.copied)
    return ON_TRANSACTIONS if name in TRANSACTIONS else ON_WRITES


class Network(network.Network):
    """The network of a run. A receiver carries out requests by ``apply(name, args)``."""

    def __init__(self, scenario: Scenario, random: Random, loop: Loop, lines: list[str] | None) -> None:
        super().__init__(loop)
        self._lines, self._random = lines, random
        crashes, rate, count = scenario.crashes, scenario.fault_rate, scenario.fault_count
        self._drawn = Faults(random, rate, count, scenario.faults, crashes)

    def send(self, receiver: Any, name: str, *args: Any) -> Any:
        """Send a request of the running actor; outside of all actors nothing goes wrong."""
        if self.loop.actor is None:
            return receiver.apply(name, args)
        return self.carry(Request(self.loop.actor.name, name, args, receiver))

    def remote(self, receiver: Any) -> Any:
        """Return the store of *receiver*, the tables, at the other end of the network."""
        return Store(partial(self.send, receiver))

    def carry(self, request: Request) -> Any:
        """Carry a request out; the sweeper's lists, of which each sweep reads sixteen, seldom take time."""
        if request.name == "due" and self._random.random() < QUICK:
            return request.receiver.apply(request.name, request.args)
        return super().carry(request)

    def travel(self) -> None:
        super().travel()
        if self.loop.actor.is_killed_by(self.loop.at):
            raise Crash

    def crash(self) -> None:
        """End the process of the actor that crashes, with its other threads."""
        if self.loop.actor.process is not None:
            self.loop.actor.process.has_died = True

    def fault(self, name: str) -> Fault | None:
        return self._drawn.draw(possible(name))

    def apply(self, request: Request, note: str) -> Any:
        answer = request.receiver.apply(request.name, request.args)
        if self._lines is not None:
            self.note(request, f"{note} -> {brief(answer) or str(answer)[:60]}")
        return answer

    def note(self, request: Request, text: str) -> None:
        shown = ", ".join(brief(arg) or str(arg)[:60] for arg in request.args)
        self.write(f"{request.sender:22} {request.name}({shown}) {text}")

    def write(self, text: str) -> None:
        """Write a line into the trace."""
        if self._lines is not None:
            self._lines.append(f"{self.loop.at:%H:%M:%S.%f} {text}")
