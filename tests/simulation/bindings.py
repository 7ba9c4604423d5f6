"""Idempotency keys of requests: each stands for the payload of its first use, for at least a day."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from fanin.errors import KeyReused
from fanin.tracker.memory import MemoryStore
from tests.simulating.violation import require
from tests.simulation.jobs import Job
from tests.simulation.scenario import TENANT

DAY = timedelta(days=1)
ROUTE = "close"
PAYLOADS = ("one", "one", "other")
"""Those of the clients that use one key: two of them send the same request."""
TIMES = 4
"""How often each client sends its request again, however late."""


@dataclass(slots=True)
class Bindings:
    """What each key stands for, by the rows that were written: a hash of the payload, and since when.

    *early*: how much earlier than a day a key may be free, as the clocks of processes are apart.
    """

    memory: MemoryStore
    now: Callable[[], datetime]
    early: timedelta
    bound: dict[tuple[str, str, str], tuple[str, datetime]] = field(default_factory=dict)

    def remember(self, *args: Any) -> str:
        """I8: bind a key, and see that no other payload takes it within a day."""
        key, at = args[:3], args[4]
        row = ("payloads", key)
        until, (payload, since) = self.memory.expiring.get(row), self.bound.get(key, (args[3], at))
        stored = self.memory.remember(*args)
        at_last = max(at, self.now())  # a request may be under way for long
        kept = payload == stored or at_last - since >= DAY - self.early
        require(kept, "I8", f"the key {key} stood for another payload since {since}, it is {at_last}")
        if self.memory.expiring.get(row) != until:
            self.bound[key] = stored, at
        elif stored != args[3]:
            require(at - since <= DAY + self.early, "I8", f"the key {key} is bound since {since}, it is {at}")
        return stored

    def stands_for(self, key: str, payload: str) -> bool:
        """Whether the key stands for the payload now."""
        stored, _ = self.bound.get((TENANT, ROUTE, key), ("", None))
        return stored == hashlib.sha256(payload.encode()).hexdigest()


@dataclass(slots=True)
class Binding(Job):
    """A client that uses a key for its payload, and again later."""

    key: str
    payload: str
    remaining: int = TIMES

    def work(self) -> None:
        world = self.world
        bindings, began = world.referee.bindings, world.at
        try:
            world.trackers[self.process].bind_key(TENANT, ROUTE, self.key, self.payload)
        except KeyReused:
            mine = bindings.stands_for(self.key, self.payload)
            require(not mine, "I8", f"{self.name} was refused, and {self.key} stands for its payload")
        else:
            right = bindings.stands_for(self.key, self.payload) or world.at != began
            require(right, "I8", f"{self.name} was answered, and {self.key} stands for another payload")
        if self.remaining:
            world.waiting.append(replace(self, remaining=self.remaining - 1))


def clients_of(world: Any, keys: int) -> list[Binding]:
    """Return the clients of so many keys."""
    named = [(f"key {number}", payload) for number in range(keys) for payload in PAYLOADS]
    return [
        Binding(world, f"client of {key}", int(world.random.random() * world.processes), key, payload)
        for key, payload in named
    ]
