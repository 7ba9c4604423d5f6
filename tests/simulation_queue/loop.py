"""Virtual time: tasks are greenlets that sleep, and the next to wake is the next to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

from tests.simulating.faults import Crash

SECOND = 1_000_000


@dataclass(eq=False)
class Process:
    """Tasks that crash and freeze together; *skew* is what its wall clock is off by, in microseconds."""

    name: str
    skew: int = 0
    dead: bool = False
    frozen_until: int = 0


@dataclass(eq=False)
class Task:
    """A task of a process: due at *wake*, or before if *ready* returns True."""

    process: Process
    thread: Any
    wake: int
    ready: Callable[[], bool] | None = None

    def due(self) -> int:
        return max(self.wake, self.process.frozen_until)


@dataclass
class Loop:
    """Runs one task at a time; *now* is in microseconds."""

    random: Random
    now: int = 0
    steps: int = 0
    tasks: list[Task] = field(default_factory=list)
    current: Task | None = None
    hub: Any = field(default_factory=getcurrent)

    def start(self, process: Process, run: Callable[[], None], after: int = 0) -> Task:
        """Start a task in a process, *after* microseconds from now."""

        def alive() -> None:
            try:
                run()
            except Crash:
                process.dead = True

        task = Task(process, greenlet(alive, self.hub), self.now + after)
        self.tasks.append(task)
        return task

    def step(self, until: int) -> None:
        """Run the next task, or advance the time to *until* if no task is due before."""
        task = self._next()
        if task is None or (task.due() > until and not self._is_ready(task)):
            self.now = max(self.now, until)
            return
        if not self._is_ready(task):
            self.now = max(self.now, task.due())
        self._switch(task)

    def sleep(self, duration: int, ready: Callable[[], bool] | None = None) -> None:
        """Suspend the current task for *duration* microseconds, or until *ready*."""
        task = self.current
        assert task is not None
        if task.process.dead:
            raise Crash
        task.wake, task.ready = self.now + duration, ready
        self.hub.switch()
        if task.process.dead:
            raise Crash

    def end(self, task: Task) -> None:
        """End a task whose result is not needed any more."""
        if task in self.tasks and task is not self.current:
            self.tasks.remove(task)
            self._kill(task)

    def bury(self) -> None:
        """Unwind the tasks of crashed processes; their requests have no effect."""
        for task in [task for task in self.tasks if task.process.dead]:
            self.tasks.remove(task)
            self._kill(task)

    def _kill(self, task: Task) -> None:
        if getcurrent() is self.hub and task.thread and not task.thread.dead:
            before, self.current = self.current, task
            was, task.process.dead = task.process.dead, True
            task.thread.throw(Crash)
            task.process.dead, self.current = was, before

    def _next(self) -> Task | None:
        ready = [task for task in self.tasks if self._is_ready(task)]
        if ready:
            return ready[int(self.random.random() * len(ready))]
        return min(self.tasks, key=Task.due, default=None)

    def _is_ready(self, task: Task) -> bool:
        if task.process.frozen_until > self.now:
            return False
        return task.wake <= self.now or (task.ready is not None and task.ready())

    def _switch(self, task: Task) -> None:
        self.steps += 1
        self.current = task
        task.thread.switch()
        self.current = None
        if task.thread.dead and task in self.tasks:
            self.tasks.remove(task)
