"""Runs coroutines of the user as tasks of one event loop, which has a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from fanin.client.sqs_worker.messages import Message
from fanin.client.sqs_worker.threads import LOOK_SECONDS
from fanin.client.sqs_worker.worker import Worker

STARTED_AT_ONCE = 50


@dataclass(eq=False)
class Tasks:
    """The tasks of *worker*, and the threads that run them; the other steps have threads of their own."""

    worker: Worker
    has_ended: threading.Event
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    running: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self) -> None:
        """Start the event loop, and what starts tasks on it; both end after ``has_ended`` is set."""
        for step in (self._run_loop, self._start_tasks):
            threading.Thread(target=step, name=f"fanin-work{step.__name__}", daemon=True).start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._until_end())
        finally:
            self.loop.close()

    async def _until_end(self) -> None:
        """Run tasks until the end, and cancel those that are not done by then."""
        while not self.has_ended.is_set():
            await asyncio.sleep(LOOK_SECONDS)
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)

    def _start_tasks(self) -> None:
        in_flight = self.worker.in_flight
        while not self.has_ended.is_set():
            if messages := self.worker.start(STARTED_AT_ONCE):
                self.loop.call_soon_threadsafe(self._create, messages)
            else:
                in_flight.await_start(LOOK_SECONDS)

    def _create(self, messages: Sequence[Message]) -> None:
        for message in messages:
            task = self.loop.create_task(self.worker.perform_in_task(message))
            self.running.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        """Drop a task that has ended; its error has stopped the worker."""
        self.running.discard(task)
        if not task.cancelled():
            task.exception()
