"""Runs actors as greenlets in virtual time: a step goes from one request to the next, a pause takes time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

START = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class Actor:
    """One invocation. *skew*: how far its clock is off. *thread*: where it is in its work."""

    name: str
    skew: timedelta
    thread: Any
    resume_at: datetime


class Loop:
    """Gives the word to one actor at a time; *actor* is who has it, None outside of all actors."""

    def __init__(self, random: Random) -> None:
        self.at = START
        self.actor: Actor | None = None
        self.running: list[Actor] = []
        self.steps = 0
        self._draw = random.random
        self._hub = getcurrent()

    def now(self) -> datetime:
        """The time on the clock of whoever asks."""
        return self.at + self.actor.skew if self.actor else self.at

    def start(self, name: str, work: Callable[[], None], skew: timedelta) -> None:
        self.running.append(Actor(name, skew, greenlet(work, self._hub), self.at))

    def runnable(self) -> list[Actor]:
        return [actor for actor in self.running if actor.resume_at <= self.at]

    def step(self, actor: Actor) -> None:
        """Let an actor go on, up to its next request or its end."""
        self.steps += 1
        self.actor = actor
        actor.thread.switch()
        self.actor = None
        if actor.thread.dead:
            self.running.remove(actor)

    def others_first(self) -> None:
        """Called by an actor before each request: others may go before it does."""
        self._hub.switch()

    def sleep(self, duration: timedelta) -> None:
        """Called by an actor: nothing of it happens for a while."""
        actor = self.actor
        if actor is not None:
            actor.resume_at = self.at + duration
            self._hub.switch()
