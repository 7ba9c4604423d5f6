"""The doorbell of a queue, as workers use it: over the network, which loses, repeats and delays rings too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from random import Random
from typing import Any

from fanin.queue import Ring
from tests.simulating.network import Request
from tests.simulation_queue.loop import SECOND, Loop, Process
from tests.simulation_queue.network import Network

VISIBILITY = 10 * SECOND


@dataclass
class Bell:
    """The doorbell of all processes; a ring that is not deleted is delivered again.

    *loss*: the share of rings that get lost on their way. *polled*: frozen processes whose open poll was
    answered; they receive no more rings until they thaw.
    """

    loop: Loop
    network: Network
    random: Random
    loss: float
    rings: dict[int, tuple[int, Ring]] = field(default_factory=dict)
    listening: list[Process] = field(default_factory=list)
    polled: set[Process] = field(default_factory=set)
    numbers: Any = field(default_factory=count)

    def at(self, url: str | None) -> Bell:
        return self

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        self._send("ring", tuple(rings), delay)

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        found: list[Ring] = self._send("receive", seconds, most)
        return found

    def delete(self, rings: Sequence[Ring]) -> None:
        self._send("unring", tuple(rings))

    def pause(self, seconds: float) -> None:
        self.loop.sleep(ceil(seconds * SECOND))

    def _send(self, name: str, *args: Any) -> Any:
        return self.network.carry(Request(self.loop.actor.process.name, name, args, self))

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry a request out."""
        return {"ring": self._ring, "receive": self._receive, "unring": self._delete}[name](*args)

    def _ring(self, rings: Sequence[Ring], delay: float) -> None:
        for ring in rings:
            if self.random.random() >= self.loss:
                number = next(self.numbers)
                at = self.loop.at + int(delay * SECOND)
                self.rings[number] = (at, Ring(ring.part, ring.due, str(number)))

    def _receive(self, seconds: float, most: int) -> list[Ring]:
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

    def _delete(self, rings: Sequence[Ring]) -> None:
        for ring in rings:
            self.rings.pop(int(ring.receipt), None)

    def _is_ringing(self) -> bool:
        return any(at <= self.loop.at for at, _ in self.rings.values())
