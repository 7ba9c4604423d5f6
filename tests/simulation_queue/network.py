"""The effects of a simulated process: a store behind a faulty network, a lossy doorbell, two clocks."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import ceil
from random import Random
from typing import Any
from uuid import UUID

from fanin.errors import StoreUnavailable
from fanin.queue import Effects, Ring
from fanin.queue.background import Duty
from tests.simulating.faults import ON_READS, ON_WRITES, Crash, Fault
from tests.simulation_queue.loop import SECOND, Loop, Process
from tests.simulation_queue.referee import WRITES, Referee

WALL = 1_772_366_400 * SECOND
VISIBILITY = 10 * SECOND
LATEST = 30 * SECOND


@dataclass
class FaultPlan:
    """The faults of a run, drawn from the seed; there are none after *left* faults or after *calm*."""

    random: Random
    rate: float
    left: int
    crashes: int
    freezes: int
    calm: int
    kinds: set[str]
    faults: Counter[str] = field(default_factory=Counter)

    @classmethod
    def draw(cls, random: Random, calm: int) -> FaultPlan:
        share = random.choice((0.3, 0.6, 1.0))
        return cls(
            random=random,
            rate=random.choice((0.0, 0.02, 0.05, 0.1, 0.3)),
            left=random.choice((5, 20, 60)),
            crashes=random.choice((0, 1, 3)),
            freezes=random.choice((0, 1, 3)),
            calm=calm,
            kinds={fault.name for fault in ON_WRITES if random.random() < share},
        )

    def fault(self, name: str, now: int) -> Fault | None:
        """Return the fault of a request, if it has one."""
        if self.left <= 0 or now > self.calm or self.random.random() >= self.rate:
            return None
        possible = [f for f in (ON_WRITES if name in WRITES else ON_READS) if f.name in self.kinds]
        fault = self.random.choice(possible) if possible else None
        if fault is None or (fault.crash and self.crashes <= 0):
            return None
        self.left -= 1
        self.crashes -= fault.crash
        self.faults[fault.name] += 1
        return fault

    def freeze(self, now: int) -> int:
        """Return how long a process freezes now, if it does."""
        if self.freezes <= 0 or now > self.calm:
            return 0
        self.freezes -= 1
        self.faults["freeze"] += 1
        return int(self.random.uniform(2, 20) * SECOND)


@dataclass
class Network:
    """One store for all processes, and the delayed copies of requests in *late*."""

    loop: Loop
    referee: Referee
    fault_plan: FaultPlan
    requests: Counter[str] = field(default_factory=Counter)
    late: list[tuple[int, int, str, tuple[Any, ...]]] = field(default_factory=list)
    numbers: Any = field(default_factory=count)
    trace: Callable[[str], None] | None = None

    def send(self, process: Process, name: str, args: tuple[Any, ...]) -> Any:
        """Send one request of a process, with its faults."""
        self._travel(process)
        self.requests[name] += 1
        fault = self.fault_plan.fault(name, self.loop.now)
        if fault is None:
            answer = self._apply(process.name, name, args, "")
            self._perhaps_freeze(process)
            return answer
        return self._fail(process, fault, name, args)

    def land(self) -> None:
        """Apply the delayed copies that are due."""
        while self.late and self.late[0][0] <= self.loop.now:
            _, _, name, args = heapq.heappop(self.late)
            self._apply("(a late copy)", name, args, "")

    def _fail(self, process: Process, fault: Fault, name: str, args: tuple[Any, ...]) -> Any:
        if fault.copied:
            at = self.loop.now + int(self.fault_plan.random.random() ** 3 * LATEST)
            heapq.heappush(self.late, (at, next(self.numbers), name, args))
        answer = self._apply(process.name, name, args, fault.name) if fault.applied else None
        if not fault.applied:
            self._note(process.name, name, args, fault.name, "not applied")
        if fault.again:
            self._travel(process)
            answer = self._apply(process.name, name, args, "the repetition")
        if fault.crash:
            process.dead = True
            raise Crash
        if not fault.answered:
            raise StoreUnavailable(fault.name)
        return answer

    def _travel(self, process: Process) -> None:
        draw = self.fault_plan.random.random()
        self.loop.sleep(int(draw * draw * 20_000))
        self._perhaps_freeze(process)

    def _perhaps_freeze(self, process: Process) -> None:
        if self.fault_plan.random.random() < 0.004:
            self.freeze(process)

    def freeze(self, process: Process) -> None:
        """Freeze a process with all its tasks."""
        duration = self.fault_plan.freeze(self.loop.now)
        if duration:
            self._note(process.name, "freeze", (duration / SECOND,), "", "")
            process.frozen_until = self.loop.now + duration
            self.loop.sleep(duration)

    def _apply(self, actor: str, name: str, args: tuple[Any, ...], note: str) -> Any:
        self._note(actor, name, args, note, "...")
        answer = self.referee.apply(name, args, self.loop.now)
        self._note(actor, name, (), note, answer)
        return answer

    def _note(self, actor: str, name: str, args: tuple[Any, ...], note: str, answer: Any) -> None:
        if self.trace is not None:
            self.trace(f"{self.loop.now / SECOND:9.4f} {actor:14} {name} {args} [{note}] -> {answer}")


class RemoteStore:
    """The store behind the network of one process."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network, self._process = network, process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, name)

    def _call(self, name: str, *args: Any, **more: Any) -> Any:
        if name == "end":  # the referee reads its arguments by place
            args = (*args, *((), None)[len(args) - 2 :])
            args = (*args[:3], more.get("dead", args[3]))
            more = {}
        return self._network.send(self._process, name, (*args, *more.values()))


@dataclass
class Bell:
    """The doorbell of all processes; a ring that is not deleted is delivered again.

    *answered*: frozen processes whose open poll was answered; they receive no more rings until they thaw.
    """

    loop: Loop
    random: Random
    loss: float
    rings: dict[int, tuple[int, Ring]] = field(default_factory=dict)
    listening: list[Process] = field(default_factory=list)
    answered: set[Process] = field(default_factory=set)
    numbers: Any = field(default_factory=count)

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        if self.loop.current is not None:
            self.loop.sleep(int(self.random.random() * 5_000))
        for ring in rings:
            if self.random.random() >= self.loss:
                number = next(self.numbers)
                at = self.loop.now + int(delay * SECOND)
                self.rings[number] = (at, Ring(ring.part, ring.due, str(number)))

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        process = self.loop.current.process
        self.listening.append(process)
        try:
            self.loop.sleep(ceil(seconds * SECOND), self._is_ringing)
        finally:
            self.listening.remove(process)
            self.answered.discard(process)
        return self._given_out(most)

    def _given_out(self, most: int) -> list[Ring]:
        ripe = [number for number, (at, _) in self.rings.items() if at <= self.loop.now][:most]
        for number in ripe:
            self.rings[number] = (self.loop.now + VISIBILITY, self.rings[number][1])
        return [self.rings[number][1] for number in ripe]

    def lose_to_frozen(self) -> None:
        """Deliver rings to the open polls of frozen processes, which lose them."""
        for process in self.listening:
            if process.frozen_until > self.loop.now and process not in self.answered and self._is_ringing():
                self.answered.add(process)
                self._given_out(1)

    def delete(self, rings: Sequence[Ring]) -> None:
        for ring in rings:
            self.rings.pop(int(ring.receipt), None)

    def _is_ringing(self) -> bool:
        return any(at <= self.loop.now for at, _ in self.rings.values())


def effects(loop: Loop, process: Process, random: Random) -> Effects:
    """Return the effects of a process: its clocks, and ids and pauses from the seed."""
    return Effects(
        now=lambda: WALL + loop.now + process.skew,
        monotonic=lambda: loop.now / SECOND,
        new_id=lambda: str(UUID(int=random.getrandbits(128))),
        pause=lambda attempt: loop.sleep(int(random.random() * 10_000 * 2**attempt)),
        each=lambda call, values: [call(value) for value in values],
    )


def background(loop: Loop, process: Process) -> Callable[[Sequence[Duty]], Callable[[], None]]:
    """Return a background that runs duties as tasks of the process, so that they crash and freeze with it."""

    def start(duties: Sequence[Duty]) -> Callable[[], None]:
        stopped: list[bool] = []

        def repeat(duty: Duty) -> None:
            while not stopped:
                loop.sleep(int(duty.seconds * SECOND), lambda: bool(stopped))
                if stopped or not duty.do():
                    return

        for duty in duties:
            loop.start(process, partial(repeat, duty))
        return lambda: stopped.append(True)

    return start
