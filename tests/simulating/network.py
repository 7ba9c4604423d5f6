"""The network between actors and what they send requests to: it loses, repeats, delays and reorders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanin.errors import StoreUnavailable
from tests.simulating.faults import Crash, Fault
from tests.simulating.loop import Loop


@dataclass(eq=False, frozen=True, slots=True)
class Request:
    """One request of an actor, *sender*, to a *receiver* if there are several."""

    sender: str
    name: str
    args: tuple[Any, ...]
    receiver: Any = None


class Network:
    """Carries requests. Each meets at most one fault, which the simulator draws in :meth:`fault`.

    *stalled*: copies that land later. *requests* and *faults* count by name.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.requests: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.stalled: list[Any] = []

    def fault(self, name: str) -> Fault | None:
        """Return what happens to a request of that name, None if nothing does."""
        raise NotImplementedError  # each simulator has its own

    def apply(self, request: Request, note: str) -> Any:
        """Carry *request* out and return the answer. *note*: what happened to it, for the trace."""
        raise NotImplementedError  # each simulator has its own

    def note(self, request: Request, text: str) -> None:
        """Write a request that was not applied into the trace."""

    def travel(self) -> None:
        """Take the time that a request is under way."""
        self.loop.others_first()

    def answered(self) -> None:
        """Let things happen to the actor once it has the answer of a request without a fault."""

    def crash(self) -> None:
        """Let things end with the actor that crashes."""

    def delay(self, request: Request) -> None:
        """Keep a copy that lands later."""
        self.stalled.append(request)

    def land(self, place: int) -> None:
        """Apply a stalled copy; its answer is dropped."""
        self.apply(self.stalled.pop(place), "a stalled copy")

    def carry(self, request: Request) -> Any:
        """Return the answer of a request; raise StoreUnavailable or Crash as its fault has it."""
        self.travel()
        fault = self.fault(request.name)
        self.requests[request.name] += 1
        if fault is not None:
            self.faults[fault.name] += 1
            return self.fail(request, fault)
        answer = self.apply(request, "")
        self.answered()
        return answer

    def fail(self, request: Request, fault: Fault) -> Any:
        """Do with *request* what its fault describes."""
        answer = None
        if fault.copied:
            self.delay(request)
        if fault.applied:
            answer = self.apply(request, fault.name)
        else:
            self.note(request, f"{fault.name}, not applied")
        if fault.again:
            self.travel()
            answer = self.apply(request, "the repetition")
        if fault.crash:
            self.crash()
            raise Crash
        if not fault.answered:
            raise StoreUnavailable(fault.name)
        return answer


class Remote:
    """What an actor holds in place of a receiver: each method is a request."""

    def __init__(self, send: Callable[..., Any]) -> None:
        self._send = send

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def request(*args: Any) -> Any:
            return self._send(name, *args)

        self.__dict__[name] = request
        return request
