"""Runs actors as greenlets, one at a time and in virtual time: a step goes from one request to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from greenlet import getcurrent, greenlet

from fanin.local.emulator_patches.lineage import Chain


@dataclass(eq=False)
class Actor:
    """Work under way, which goes on at *wake*. *skew*: the error of its clock. *thread*: its greenlet.

    *chain*: of the messages that it sends, as Lambda counts invocations.
    """

    name: str
    wake: Any = 0
    skew: Any = 0
    thread: Any = None
    chain: Chain = field(default_factory=Chain)


class Loop:
    """Runs one actor at a time. *at*: the virtual time; *actor*: the running one, None outside of all.

    Times are the simulator's own: microseconds, or datetimes and timedeltas. It chooses which actor
    takes the next step, and when the time goes on.
    """

    def __init__(self, at: Any = 0) -> None:
        self.at = at
        self.steps = 0
        self.actor: Any = None
        self.running: list[Any] = []
        self.hub = getcurrent()

    def start(self, actor: Actor, work: Callable[[], None]) -> None:
        """Make *actor* run *work*, from its next step on."""
        actor.thread = greenlet(work, self.hub)
        self.running.append(actor)

    def clock(self) -> Any:
        """Return the time on the running actor's clock."""
        return self.at + self.actor.skew if self.actor else self.at

    def runnable(self) -> list[Any]:
        """Return the actors whose time to wake has come."""
        return [actor for actor in self.running if actor.wake <= self.at]

    def switch(self, actor: Actor) -> None:
        """Let *actor* go on, up to its next request, sleep or end."""
        self.steps += 1
        self.actor = actor
        actor.thread.switch()
        self.actor = None
        if actor.thread.dead and actor in self.running:
            self.running.remove(actor)

    def others_first(self) -> None:
        """Called by an actor before each request: others may take steps before it does."""
        self.hub.switch()

    def sleep(self, duration: Any) -> None:
        """Called by an actor: it goes on after *duration*."""
        if self.actor is not None:
            self.actor.wake = self.at + duration
            self.hub.switch()
