"""Virtual time in microseconds: the next actor to wake is the next to run, and processes crash and freeze."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from greenlet import getcurrent

from tests.simulating import loop
from tests.simulating.faults import Crash

SECOND = 1_000_000
WALL = 1_772_366_400 * SECOND
"""What a right wall clock shows at the begin of a run."""


@dataclass(eq=False)
class Process:
    """Tasks that crash and freeze together; *skew* is the error of its wall clock, in microseconds."""

    name: str
    skew: int = 0
    dead: bool = False
    frozen_until: int = 0


@dataclass(eq=False)
class Task(loop.Actor):
    """An actor in a process: due at *wake*, or before that once *ready* returns true."""

    process: Process | None = None
    ready: Callable[[], bool] | None = None

    def due(self) -> int:
        """Return when the task goes on at the latest."""
        return max(self.wake, self.process.frozen_until)


class Loop(loop.Loop):
    """Runs the tasks of all processes."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random

    def begin(self, process: Process, run: Callable[[], None], after: int = 0) -> Task:
        """Start a task in a process, *after* microseconds from now."""

        def alive() -> None:
            try:
                run()
            except Crash:
                process.dead = True

        task = Task(process.name, self.at + after, process=process)
        self.start(task, alive)
        return task

    def step(self, until: int) -> None:
        """Let the next task go on, or let the time pass to *until* if none is due before."""
        task = self._next()
        if task is None or (task.due() > until and not self._is_ready(task)):
            self.at = max(self.at, until)
            return
        if not self._is_ready(task):
            self.at = max(self.at, task.due())
        self.switch(task)

    def sleep(self, duration: int, ready: Callable[[], bool] | None = None) -> None:
        """Called by a task: others go on, for *duration* or until *ready*."""
        task = self.actor
        assert task is not None
        if task.process.dead:
            raise Crash
        task.ready = ready
        super().sleep(duration)
        if task.process.dead:
            raise Crash

    def end(self, task: Task) -> None:
        """Stop a task whose result is not needed any more."""
        if task in self.running and task is not self.actor:
            self.running.remove(task)
            self._kill(task)

    def bury(self) -> None:
        """Unwind the tasks of dead processes; their requests on the way out have no effect."""
        for task in [task for task in self.running if task.process.dead]:
            self.running.remove(task)
            self._kill(task)

    def _kill(self, task: Task) -> None:
        if getcurrent() is self.hub and task.thread and not task.thread.dead:
            before, self.actor = self.actor, task
            was, task.process.dead = task.process.dead, True
            task.thread.throw(Crash)
            task.process.dead, self.actor = was, before

    def _next(self) -> Task | None:
        ready = [task for task in self.running if self._is_ready(task)]
        if ready:
            return ready[int(self.random.random() * len(ready))]
        return min(self.running, key=Task.due, default=None)

    def _is_ready(self, task: Task) -> bool:
        if task.process.frozen_until > self.at:
            return False
        return task.wake <= self.at or (task.ready is not None and task.ready())
