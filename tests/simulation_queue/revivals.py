"""Jobs of one key that die and are revived while copies of requests for their reruns are under way."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from random import Random

from fanin.errors import StoreUnavailable
from tests.simulating.faults import LATE, Fault
from tests.simulating.network import Request
from tests.simulation_queue.loop import SECOND
from tests.simulation_queue.network import Network
from tests.simulation_queue.world import World

LATEST = 10 * SECOND


class Revivals(World):
    """Each failure kills a job, and a process revives the dead; half of the requested reruns are copied."""

    def __init__(self, random: Random, trace: Callable[[str], None] | None = None) -> None:
        super().__init__(random, trace)
        self.keys, self.max_failures, self.reruns = 1, 1, 0.8
        self.longest, self.boom = random.choice((0.5, 2.0)), 0.4
        self.network.fault, self.network.delay = self._fault, self._delay

    def delay(self) -> float:
        return 0.0

    def _begin(self) -> None:
        for _ in range(4):
            self._produce()
            self._work(self._process("worker"), after=0)
        self.loop.begin(self._process("reviver"), self._revive_often)

    def _revive_often(self) -> None:
        queue = self._queue(self.loop.actor.process)
        while True:
            self.loop.sleep(int(self.random.uniform(0.1, 2) * SECOND))
            with suppress(StoreUnavailable):
                self._revive_some(queue)

    def _fault(self, name: str) -> Fault | None:
        if name == "rerun" and self.loop.at <= self.plan.calm and self.random.random() < 0.5:
            return LATE
        return Network.fault(self.network, name)

    def _delay(self, request: Request) -> None:
        at = self.loop.at + int(self.random.random() * LATEST)
        heapq.heappush(self.network.stalled, (at, next(self.network._numbers), request))
