"""Runs the steps of a worker in threads, each of which takes one kind of step again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from fanin.client.sqs_worker.visibility import LOOKS
from fanin.client.sqs_worker.worker import Worker

RECEIVERS_MAX, DELETERS = 8, 2
STARTS_A_RECEIVER = 10
LINGER_SECONDS = 0.03
"""How long messages that have been worked on wait for others, to be acked by the same write."""
LOOK_SECONDS = 0.5
"""How often a thread that waits looks whether the worker has ended."""


@dataclass(eq=False)
class Threads:
    """The threads of *worker*; those that perform, if *in_threads*. They are daemons: work may never end."""

    worker: Worker
    in_threads: bool = True
    has_ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start the threads, which end after ``has_ended`` is set."""
        concurrency = self.worker.in_flight.concurrency
        receivers = min(RECEIVERS_MAX, 1 + concurrency // STARTS_A_RECEIVER)
        steps = [*[self._receive] * receivers, self._settle, *[self._delete] * DELETERS, self._extend]
        steps += [self._perform] * concurrency if self.in_threads else []
        for number, step in enumerate(steps):
            name = f"fanin-work-{number}{step.__name__}"
            threading.Thread(target=partial(self._run, step), name=name, daemon=True).start()

    def _run(self, step: Callable[[], object]) -> None:
        """Take a step until the end; an error that no step handles stops the worker."""
        try:
            while not self.has_ended.is_set():
                step()
        except BaseException as error:
            self.worker.fail(error)

    def _receive(self) -> None:
        """Receive, if there is room for messages."""
        worker = self.worker
        found = worker.receive()
        if found is None:
            self.has_ended.wait(worker.pause())
        elif not found:
            with worker.in_flight.has_room:
                worker.in_flight.has_room.wait_for(lambda: worker.in_flight.room, LOOK_SECONDS)

    def _perform(self) -> None:
        worker = self.worker
        if messages := worker.start():
            worker.perform(messages)
        else:
            worker.in_flight.await_start(LOOK_SECONDS)

    def _settle(self) -> None:
        in_flight = self.worker.in_flight
        with in_flight.can_settle:
            if in_flight.can_settle.wait_for(lambda: in_flight.worked, LOOK_SECONDS):
                in_flight.can_settle.wait_for(lambda: in_flight.is_due, LINGER_SECONDS)
        self.worker.settle()

    def _delete(self) -> None:
        in_flight = self.worker.in_flight
        if not self.worker.delete():
            with in_flight.can_delete:
                in_flight.can_delete.wait_for(lambda: in_flight.settled, LOOK_SECONDS)

    def _extend(self) -> None:
        self.worker.extend()
        self.has_ended.wait((self.worker.leases.visibility or LOOKS) / LOOKS)
