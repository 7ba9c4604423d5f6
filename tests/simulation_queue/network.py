"""The effects of a simulated process: a store behind a faulty network, a lossy doorbell, two clocks."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import ceil
from random import Random
from typing import Any
from uuid import UUID

from fanin.queue import Effects, Ring
from fanin.queue.background import Duty
from fanin.queue.model import Member
from tests.simulating import network
from tests.simulating.faults import ON_READS, ON_WRITES, PAUSED, Fault, Faults
from tests.simulating.network import Request
from tests.simulation_queue.loop import SECOND, Loop, Process
from tests.simulation_queue.referee import WRITES, Referee

WALL = 1_772_366_400 * SECOND
VISIBILITY = 10 * SECOND
LATEST = 30 * SECOND
# How old what an inconsistent read returns can be.
LAG = SECOND // 4


@dataclass
class Disturbances(Faults):
    """The faults of requests, and *freezes* of processes; none after *calm*."""

    freezes: int = 0
    calm: int = 0

    @classmethod
    def drawn(cls, random: Random, calm: int) -> Disturbances:
        """Draw the rates and kinds of a run."""
        share = random.choice((0.3, 0.6, 1.0))
        return cls(
            random=random,
            rate=random.choice((0.0, 0.02, 0.05, 0.1, 0.3)),
            left=random.choice((5, 20, 60)),
            crashes=random.choice((0, 1, 3)),
            freezes=random.choice((0, 1, 3)),
            calm=calm,
            kinds={fault for fault in ON_WRITES if random.random() < share},
        )

    def freeze(self, now: int) -> int:
        """Return for how long a process freezes now, 0 if it does not."""
        if self.freezes <= 0 or now > self.calm:
            return 0
        self.freezes -= 1
        return int(self.random.uniform(2, 20) * SECOND)


class Network(network.Network):
    """One store for all processes. *stalled*: copies of requests and when they land, as a heap."""

    loop: Loop

    def __init__(
        self, loop: Loop, referee: Referee, plan: Disturbances, trace: Callable[[str], None] | None
    ) -> None:
        super().__init__(loop)
        self.referee, self.plan, self.trace = referee, plan, trace
        self._numbers = count()

    def fault(self, name: str) -> Fault | None:
        if self.loop.at > self.plan.calm:
            return None
        return self.plan.draw(ON_WRITES if name in WRITES else ON_READS)

    def delay(self, request: Request) -> None:
        at = self.loop.at + int(self.plan.random.random() ** 3 * LATEST)
        heapq.heappush(self.stalled, (at, next(self._numbers), request))

    def land(self) -> None:
        """Apply the delayed copies that are due."""
        while self.stalled and self.stalled[0][0] <= self.loop.at:
            _, _, request = heapq.heappop(self.stalled)
            self.apply(replace(request, sender="(a late copy)"), "")

    def travel(self) -> None:
        draw = self.plan.random.random()
        self.loop.sleep(int(draw * draw * 20_000))
        self.answered()

    def answered(self) -> None:
        if self.plan.random.random() < 0.004:
            self.freeze(self.loop.actor.process)

    def crash(self) -> None:
        self.loop.actor.process.dead = True

    def freeze(self, process: Process) -> None:
        """Stop a process for a while, if a freeze is left."""
        duration = self.plan.freeze(self.loop.at)
        if duration:
            self.faults[PAUSED] += 1
            self._write(process.name, "freeze", (duration / SECOND,), "", "")
            process.frozen_until = self.loop.at + duration
            self.loop.sleep(duration)

    def apply(self, request: Request, note: str) -> Any:
        self._write(request.sender, request.name, request.args, note, "...")
        answer = self._peeked_earlier(request)
        if answer is None:
            answer = self.referee.apply(request.name, request.args, self.loop.at)
        self._write(request.sender, request.name, (), note, answer)
        return answer

    def _peeked_earlier(self, request: Request) -> list[Member] | None:
        """Return what a peek would have returned some time before; sometimes, as it is no consistent read."""
        if request.name != "peek" or self.plan.random.random() < 0.7:
            return None
        _, ids = request.args
        recent = [members for at, members in self.referee.earlier if self.loop.at - at < LAG]
        if not recent:
            return None
        return [member for member in self.plan.random.choice(recent) if ids is None or member.id in ids]

    def note(self, request: Request, text: str) -> None:
        self._write(request.sender, request.name, request.args, text, "")

    def _write(self, actor: str, name: str, args: tuple[Any, ...], note: str, answer: Any) -> None:
        if self.trace is not None:
            self.trace(f"{self.loop.at / SECOND:9.4f} {actor:14} {name} {args} [{note}] -> {answer}")


class RemoteStore:
    """The store behind the network of one process."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network, self._process = network, process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, name)

    def _call(self, name: str, *args: Any, **more: Any) -> Any:
        if name == "end":  # the referee reads its arguments by position
            args = (*args, *((), None)[len(args) - 2 :])
            args = (*args[:3], more.get("dead", args[3]))
            more = {}
        return self._network.carry(Request(self._process.name, name, (*args, *more.values())))


@dataclass
class Bell:
    """The doorbell of all processes; a ring that is not deleted is delivered again.

    *polled*: frozen processes whose open poll was answered; they receive no more rings until they thaw.
    """

    loop: Loop
    random: Random
    loss: float
    rings: dict[int, tuple[int, Ring]] = field(default_factory=dict)
    listening: list[Process] = field(default_factory=list)
    polled: set[Process] = field(default_factory=set)
    numbers: Any = field(default_factory=count)

    def at(self, url: str | None) -> Bell:
        return self

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        if self.loop.actor is not None:
            self.loop.sleep(int(self.random.random() * 5_000))
        for ring in rings:
            if self.random.random() >= self.loss:
                number = next(self.numbers)
                at = self.loop.at + int(delay * SECOND)
                self.rings[number] = (at, Ring(ring.part, ring.due, str(number)))

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        process = self.loop.actor.process
        self.listening.append(process)
        try:
            self.loop.sleep(ceil(seconds * SECOND), self._is_ringing)
        finally:
            self.listening.remove(process)
            self.polled.discard(process)
        return self._given_out(most)

    def _given_out(self, most: int) -> list[Ring]:
        ripe = [number for number, (at, _) in self.rings.items() if at <= self.loop.at][:most]
        for number in ripe:
            self.rings[number] = (self.loop.at + VISIBILITY, self.rings[number][1])
        return [self.rings[number][1] for number in ripe]

    def lose_to_frozen(self) -> None:
        """Deliver rings to the open polls of frozen processes, which lose them."""
        for process in self.listening:
            if process.frozen_until > self.loop.at and process not in self.polled and self._is_ringing():
                self.polled.add(process)
                self._given_out(1)

    def rest(self, seconds: float) -> None:
        self.loop.sleep(ceil(seconds * SECOND))

    def delete(self, rings: Sequence[Ring]) -> None:
        for ring in rings:
            self.rings.pop(int(ring.receipt), None)

    def _is_ringing(self) -> bool:
        return any(at <= self.loop.at for at, _ in self.rings.values())


def effects(loop: Loop, process: Process, random: Random) -> Effects:
    """Return the effects of a process: its clocks, and ids and pauses from the seed."""
    return Effects(
        now=lambda: WALL + loop.at + process.skew,
        monotonic=lambda: loop.at / SECOND,
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
            loop.begin(process, partial(repeat, duty))
        return lambda: stopped.append(True)

    return start
