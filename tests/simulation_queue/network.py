"""The effects of a simulated process: a store behind a faulty network, a lossy doorbell, two clocks."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

from fanin.queue import Effects
from fanin.queue.rules.model import Member
from fanin.queue.sessions.background import Duty
from tests.simulating import network
from tests.simulating.faults import JUMPED, ON_READS, ON_WRITES, PAUSED, UNANSWERED, Fault, Faults
from tests.simulating.network import Request
from tests.simulation_queue.claim_order import ClaimOrder
from tests.simulation_queue.loop import SECOND, WALL, Loop, Process
from tests.simulation_queue.referee import WRITES, Referee

LATEST = 30 * SECOND
SKEWS = (*(0,) * 7, *(2 * SECOND,) * 5, *(300 * SECOND,) * 2)
"""By how much the wall clocks of a run are wrong at most."""
# How old what an inconsistent read returns can be.
LAG = SECOND // 4


POSSIBLE = {name: ON_WRITES for name in (*WRITES, "ring", "unring")} | {"receive": (*ON_READS, UNANSWERED)}
"""The faults that a request can meet, by its name; others read."""


@dataclass
class Disturbances(Faults):
    """The faults of requests, *freezes* of processes, and *jumps* of their clocks; none after *calm*.

    *skew*: by how much a wall clock is wrong at most, in microseconds; after *calm* by *later* at most.
    """

    freezes: int = 0
    calm: int = 0
    jumps: int = 0
    skew: int = 0
    later: int = 2 * SECOND

    @classmethod
    def drawn(cls, random: Random, calm: int) -> Disturbances:
        """Draw the rates and kinds of a run."""
        share = random.choice((0.3, 0.6, 1.0))
        return cls(
            random=random,
            rate=random.choice((0.0, 0.02, 0.05, 0.1, 0.3)),
            remaining=random.choice((5, 20, 60)),
            crashes=random.choice((0, 1, 3)),
            freezes=random.choice((0, 1, 3)),
            calm=calm,
            kinds={fault for fault in ON_WRITES if random.random() < share},
            skew=random.choice(SKEWS),
            jumps=random.choice((0, 3, 20)),
        )

    def freeze(self, now: int) -> int:
        """Return for how long a process freezes now, 0 if it does not."""
        if self.freezes <= 0 or now > self.calm:
            return 0
        self.freezes -= 1
        return int(self.random.uniform(2, 20) * SECOND)

    def drawn_skew(self, now: int) -> int:
        """Return the error of a wall clock."""
        most = self.skew if now <= self.calm else min(self.skew, self.later)
        return self.random.randrange(-most, most) if most else 0


class Network(network.Network):
    """One store for all processes. *stalled*: copies of requests and when they land, as a heap.

    *order*: of each process's claims. *failed_ring*: the last error of a request to the doorbell.
    """

    loop: Loop

    def __init__(
        self, loop: Loop, referee: Referee, plan: Disturbances, trace: Callable[[str], None] | None
    ) -> None:
        super().__init__(loop)
        self.referee, self.plan, self.trace = referee, plan, trace
        self._numbers = count()
        self.order = ClaimOrder()
        self.failed_ring: BaseException | None = None

    def fault(self, name: str) -> Fault | None:
        if self.loop.at > self.plan.calm:
            return None
        return self.plan.draw(POSSIBLE.get(name, ON_READS))

    def carry(self, request: Request) -> Any:
        self.order.sent(request)
        try:
            answer = super().carry(request)
        except BaseException as error:
            self.order.failed(request)
            self.failed_ring = error if request.receiver is not None else self.failed_ring
            raise
        self.order.answered(request, answer)
        return answer

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
        draw = self.plan.random.random()
        if draw < 0.004:
            self.freeze(self.loop.actor.process)
        elif self.plan.jumps and draw > 0.99:
            self.jump(self.loop.actor.process)

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

    def jump(self, process: Process) -> None:
        """Set the wall clock of a process, which may go back."""
        self.plan.jumps -= 1
        self.faults[JUMPED] += 1
        process.skew = self.plan.drawn_skew(self.loop.at)

    def apply(self, request: Request, note: str) -> Any:
        self._write(request.sender, request.name, request.args, note, "...")
        if request.receiver is not None:
            return request.receiver.apply(request.name, request.args)
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
