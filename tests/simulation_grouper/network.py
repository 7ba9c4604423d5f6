"""Store, queues and batch API as an actor sees them: over a network with the scenario's faults."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from fanin.errors import StoreUnavailable
from fanin.grouper import Answer, Call, Outcome, Posting, Task, Verdict
from tests.simulating import network
from tests.simulating.faults import (
    JUMPED,
    ON_CALLS,
    ON_READS,
    ON_TRANSACTIONS,
    ON_WRITES,
    PAUSED,
    Fault,
    Faults,
)
from tests.simulating.loop import Loop
from tests.simulating.network import Remote, Request
from tests.simulation_grouper.scenario import LEASE, Scenario, drawn_skew

READS = {"task", "tasks", "lease", "bundle", "full_at", "candidates", "open_tasks", "live"}


def possible(name: str) -> tuple[Fault, ...]:
    """Return the faults that a request can meet: only claims conflict."""
    if name in READS:
        return ON_READS
    if name == "call":
        return ON_CALLS
    return ON_TRANSACTIONS if name == "claim" else ON_WRITES


class Network(network.Network):
    """The network of a run. *struck*: faults of requests by their number, besides those that are drawn."""

    def __init__(self, scenario: Scenario, random: Random, loop: Loop, lines: list[str] | None) -> None:
        super().__init__(loop)
        self.struck: dict[int, Fault] = {}
        self._random, self._lines = random, lines
        self._drawn = Faults(random, scenario.fault_rate, scenario.fault_count, scenario.faults)
        self._pauses, self._jumps, self._skew = scenario.pauses, scenario.jumps, scenario.skew

    def send(self, receiver: Any, name: str, *args: Any) -> Any:
        """Send a request of the running actor to *receiver*."""
        sender = self.loop.actor.name if self.loop.actor else "the harness"
        return self.carry(Request(sender, name, args, receiver))

    def fault(self, name: str) -> Fault | None:
        """Return the fault of a request, after a pause of its actor if one is drawn."""
        self._perhaps_pause()
        self._perhaps_jump()
        struck = self.struck.get(self.requests.total())
        if struck is not None:
            return struck if struck in possible(name) else None
        return self._drawn.draw(possible(name))

    def _perhaps_pause(self) -> None:
        if self._pauses and self._random.random() < 0.03:
            self._pauses -= 1
            self.faults[PAUSED] += 1
            self.loop.sleep(LEASE * (0.5 + 2.5 * self._random.random()))

    def _perhaps_jump(self) -> None:
        """Set the clock of the running actor, which may go back."""
        if self._jumps and self._random.random() < 0.03:
            self._jumps -= 1
            self.faults[JUMPED] += 1
            self.loop.actor.skew = drawn_skew(self._random, self._skew)

    def apply(self, request: Request, note: str) -> Any:
        answer = request.receiver.apply(request.sender, request.name, request.args)
        if self._lines is not None:
            self.note(request, f"{note} -> {answer}")
        return answer

    def note(self, request: Request, text: str) -> None:
        if self._lines is not None:
            at = self.loop.at.strftime("%H:%M:%S.%f")[:-4]
            shown = ", ".join(map(str, request.args))
            self._lines.append(f"{at} {request.sender:28} {request.name}({shown}) {text}")


def remote_store(network: Network, receiver: Any) -> Remote:
    """Return a GrouperStore at the other end of the network."""
    return Remote(partial(network.send, receiver))


class RemoteQueue:
    """Both queues at the other end of the network; ten messages a request."""

    def __init__(self, network: Network, receiver: Any) -> None:
        self._network, self._receiver = network, receiver

    def send(self, postings: Sequence[Posting]) -> None:
        for posting in postings:
            self._network.send(self._receiver, "post", posting)


class RemoteApi:
    """The batch API at the other end of the network; what it did may stay unknown."""

    def __init__(self, network: Network, receiver: Any, loop: Loop) -> None:
        self._network, self._receiver, self._loop = network, receiver, loop

    def call(self, call: Call) -> Answer:
        try:
            answer: Answer = self._network.send(self._receiver, "call", call)
        except StoreUnavailable as error:
            return Answer(Outcome(Verdict.RETRY, str(error)))
        self._loop.sleep(timedelta(milliseconds=300))
        return answer


class RemoteNotifier:
    """A Notifier at the other end of the network."""

    def __init__(self, network: Network, receiver: Any) -> None:
        self._network, self._receiver = network, receiver

    def notify(self, tasks: Sequence[Task]) -> None:
        self._network.send(self._receiver, "notify", tuple(tasks))
