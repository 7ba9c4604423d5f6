"""Store, queues and batch API as an actor sees them: over a network that loses, repeats and delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

from fanin.errors import StoreUnavailable
from fanin.grouper import Answer, Call, Outcome, Posting, Task, Verdict
from tests.simulating.faults import CONFLICT, CRASH_AFTER, CRASH_BEFORE, LOST, THROTTLED, Crash, Fault
from tests.simulation_grouper.loop import Loop
from tests.simulation_grouper.scenario import LEASE, Scenario

READS = {"task", "tasks", "lease", "bundle", "full_at", "candidates", "open_tasks", "live"}
ON_READS = {THROTTLED, LOST, CRASH_BEFORE, CRASH_AFTER}
ON_CALLS = {LOST, CRASH_BEFORE, CRASH_AFTER}


def possible(fault: Fault, name: str) -> bool:
    """Whether a request can meet a fault: a batch API's client repeats nothing, and only claims conflict."""
    if name in READS:
        return fault in ON_READS
    if name == "call":
        return fault in ON_CALLS
    return fault is not CONFLICT or name == "claim"


class Network:
    """Decides what befalls each request, and carries it out. *stalled*: copies that land later.

    *struck*: faults that befall requests by their number, besides those that chance has.
    """

    def __init__(self, scenario: Scenario, random: Random, loop: Loop, lines: list[str] | None) -> None:
        self.requests: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.stalled: list[tuple[str, Any, str, tuple[Any, ...]]] = []
        self.struck: dict[int, Fault] = {}
        self._scenario, self._random, self._loop, self._lines = scenario, random, loop, lines
        self._left, self._pauses = scenario.fault_count, scenario.pauses

    def send(self, receiver: Any, name: str, *args: Any) -> Any:
        """One request of the actor who has the word, to what carries it out."""
        speaker = self._loop.actor.name if self._loop.actor else "the harness"
        self._loop.others_first()
        self._perhaps_pause()
        fault = self._fault(name)
        self.requests[name] += 1
        if fault is None:
            return self._carry_out(speaker, receiver, name, args, "")
        self.faults[fault.name] += 1
        if fault.copied:
            self.stalled.append((speaker, receiver, name, args))
        note = fault.name if fault.applied else f"{fault.name}, not applied"
        answer = None
        if fault.applied:
            answer = self._carry_out(speaker, receiver, name, args, note)
        else:
            self._note(speaker, name, args, note)
        if fault.again:
            self._loop.others_first()
            answer = self._carry_out(speaker, receiver, name, args, "the repetition")
        if fault.crash:
            raise Crash
        if not fault.answered:
            raise StoreUnavailable(fault.name)
        return answer

    def land(self, place: int) -> None:
        """A stalled copy arrives; nobody waits for its answer."""
        speaker, receiver, name, args = self.stalled.pop(place)
        self._carry_out(speaker, receiver, name, args, "a stalled copy")

    def _fault(self, name: str) -> Fault | None:
        struck = self.struck.get(self.requests.total())
        if struck is not None:
            return struck if possible(struck, name) else None
        if self._left <= 0 or self._random.random() >= self._scenario.fault_rate:
            return None
        kinds = [fault for fault in self._scenario.faults if possible(fault, name)]
        if not kinds:
            return None
        self._left -= 1
        return self._random.choice(kinds)

    def _perhaps_pause(self) -> None:
        if self._pauses and self._random.random() < 0.03:
            self._pauses -= 1
            self.faults["pause"] += 1
            self._loop.sleep(LEASE * (0.5 + 2.5 * self._random.random()))

    def _carry_out(self, speaker: str, receiver: Any, name: str, args: tuple[Any, ...], note: str) -> Any:
        answer = receiver.apply(speaker, name, args)
        if self._lines is not None:
            self._note(speaker, name, args, f"{note} -> {answer}")
        return answer

    def _note(self, speaker: str, name: str, args: tuple[Any, ...], text: str) -> None:
        if self._lines is not None:
            at = self._loop.at.strftime("%H:%M:%S.%f")[:-4]
            shown = ", ".join(map(str, args))
            self._lines.append(f"{at} {speaker:28} {name}({shown}) {text}")


class RemoteStore:
    """A GrouperStore at the other end of the network."""

    def __init__(self, network: Network, receiver: Any) -> None:
        self._network, self._receiver = network, receiver

    def __getattr__(self, name: str) -> Any:
        def request(*args: Any) -> Any:
            return self._network.send(self._receiver, name, *args)

        self.__dict__[name] = request
        return request


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
    """Those who hear of ended tasks, at the other end of the network."""

    def __init__(self, network: Network, receiver: Any) -> None:
        self._network, self._receiver = network, receiver

    def notify(self, tasks: Sequence[Task]) -> None:
        self._network.send(self._receiver, "notify", tuple(tasks))
