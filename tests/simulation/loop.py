"""Runs actors as greenlets, one step at a time: a step goes from one request to the store to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from greenlet import getcurrent, greenlet

from tests.simulation.choices import Choices


class Job(Protocol):
    """One thing that an actor does, from its start to its end or its failure."""

    name: str
    process: int

    def run(self) -> None:
        """Do it; where it fails, see to it that it is done again."""


@dataclass(slots=True)
class Actor:
    """A job under way."""

    job: Job
    thread: Any


class Loop:
    """Gives the word to one actor at a time; *now* is the job that has it, None outside of all actors."""

    def __init__(self, choices: Choices) -> None:
        self.now: Job | None = None
        self.steps = 0
        self.running: list[Actor] = []
        self._choices = choices
        self._hub = getcurrent()

    def start(self, job: Job) -> None:
        """Make an actor that will do *job*, from the next steps on."""
        self.running.append(Actor(job, greenlet(job.run, self._hub)))

    def step(self) -> None:
        """Let one actor go on, up to its next request or its end."""
        place = self._choices.actor(len(self.running))
        actor = self.running.pop(place)
        self.steps += 1
        self.now = actor.job
        actor.thread.switch()
        self.now = None
        if not actor.thread.dead:
            self.running.insert(0, actor)

    def others_first(self) -> None:
        """Called by an actor before each request: others may go before it does."""
        self._hub.switch()
