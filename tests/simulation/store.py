"""The store as an actor sees it: over a network that loses, repeats and delays, by the run's choices."""

from __future__ import annotations

from typing import Any

from tests.simulating.faults import Fault
from tests.simulating.network import Network, Remote, Request
from tests.simulation.choices import Choices
from tests.simulation.loop import Loop
from tests.simulation.possible import POSSIBLE
from tests.simulation.referee import NOTHING, Referee
from tests.simulation.replica import Replica
from tests.simulation.trace import Trace
from tests.simulation.two_requests import TwoRequests


class UnreliableStore(TwoRequests, Network, Remote):
    """A TrackerStore, each of whose calls is a request.

    Other actors may go before each request, and each may fail; *stalled* lands later.
    """

    def __init__(
        self, referee: Referee, replica: Replica, loop: Loop, choices: Choices, trace: Trace | None
    ) -> None:
        super().__init__(loop)
        self._referee, self._replica, self._trace = referee, replica, trace
        self._loop, self._choices = loop, choices

    def land(self, place: int) -> None:
        """A stalled copy reaches the store; no caller waits for its answer."""
        name, args = self.stalled.pop(place)
        self._apply("(a stalled copy)", name, args, "")

    def _send(self, name: str, *args: Any) -> Any:
        job = self._loop.now
        if job is None:
            return self._apply("(the harness)", name, args, "")
        self._referee.observe(getattr(job, "asked", NOTHING), name, args)
        return self.carry(Request(job.name, name, args))

    def fault(self, name: str) -> Fault | None:
        return self._choices.fault(name, POSSIBLE[name])

    def delay(self, request: Request) -> None:
        self.stalled.append((request.name, request.args))

    def fail(self, request: Request, fault: Fault) -> Any:
        if fault.copied or fault.again:
            self._referee.may_repeat(request.name, request.args)
        return super().fail(request, fault)

    def note(self, request: Request, text: str) -> None:
        if self._trace is not None:
            self._trace.request(request.sender, request.name, request.args, text, "")

    def apply(self, request: Request, note: str) -> Any:
        self._replica.pass_time()
        if self._replica.serves(request.name):
            self.note(request, "from a replica")
            return self._replica.read(request.name, request.args)
        return self._apply(request.sender, request.name, request.args, note)

    def _apply(self, actor: str, name: str, args: tuple[Any, ...], note: str) -> Any:
        if self._trace is None:
            return self._referee.apply(name, args)
        self._trace.request(actor, name, args, note, "...")
        answer = self._referee.apply(name, args)
        self._trace.answered(answer)
        return answer
