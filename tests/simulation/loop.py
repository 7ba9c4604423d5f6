"""Runs actors as greenlets, one step at a time: a step goes from one request to the store to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tests.simulating import loop
from tests.simulation.choices import Choices


class Job(Protocol):
    """One thing that an actor does, from its start to its end or its failure."""

    name: str
    process: int

    def run(self) -> None:
        """Do it; where it fails, see to it that it is done again."""


@dataclass(eq=False)
class Actor(loop.Actor):
    """A job under way."""

    job: Job | None = None


class Loop(loop.Loop):
    """Runs the actors that the run's choices name; the last one is the first in *running*."""

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self._choices = choices

    @property
    def now(self) -> Job | None:
        """The running actor's job, None outside of all actors."""
        return self.actor.job if self.actor else None

    def begin(self, job: Job) -> None:
        """Start an actor that does *job*, from the next steps on."""
        self.start(Actor(job.name, job=job), job.run)

    def step(self) -> None:
        """Let one actor go on, up to its next request or its end."""
        actor = self.running.pop(self._choices.actor(len(self.running)))
        self.running.insert(0, actor)
        self.switch(actor)
