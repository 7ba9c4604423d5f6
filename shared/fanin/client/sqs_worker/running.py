"""A worker from its start to its stop: its threads, its signals, and its lines in the log."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Self

from fanin.arguments import seconds_of
from fanin.aws.messaging.receiving import ReceivedQueue
from fanin.client.consuming.consumer import Consumer
from fanin.client.sqs_worker.handlers import VISIBILITY_MIN, WorkOptions, hidden_seconds
from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import Source, WorkSummary
from fanin.client.sqs_worker.performing import ConsumerPerformer, TimeLeft
from fanin.client.sqs_worker.threads import Threads
from fanin.client.sqs_worker.visibility import Leases, clock
from fanin.client.sqs_worker.worker import Worker

logger = logging.getLogger("fanin")

THREADS, TASKS = 10, 100
GRACE_SECONDS = 20.0
"""Below the 30 s that ECS and Kubernetes wait between SIGTERM and SIGKILL."""
COUNTED = ("deleted", "returned", "released", "lost")
REPORT_SECONDS = 60.0
LOOK_SECONDS = 0.2
SETTLE_SECONDS = 2.0
"""The part of the time at a stop that is kept for acks and deletions."""


@dataclass(eq=False)
class StopRequest:
    """A request to stop: *asked* at first, *now* at the second time; *interrupted* by SIGINT."""

    asked: threading.Event = field(default_factory=threading.Event)
    now: threading.Event = field(default_factory=threading.Event)
    interrupted: bool = False

    def again(self) -> None:
        """Stop; called again, without waiting for what is under work."""
        if self.asked.is_set():
            self.now.set()
        self.asked.set()

    @contextmanager
    def at_signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM while the block runs; in a thread, which gets no signals, do nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, _frame: FrameType | None) -> None:
            self.interrupted = self.interrupted or number == signal.SIGINT
            self.again()

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(eq=False)
class Running:
    """Runs a worker of *source* by *consumer*. *grace*: seconds that a stop takes at most."""

    source: Source
    consumer: Consumer
    concurrency: int
    visibility: int
    grace: float
    stop: StopRequest = field(default_factory=StopRequest)

    @classmethod
    def of(cls, source: ReceivedQueue, consumer: Consumer, options: WorkOptions) -> Self:
        """Return what runs a worker with *options*, which are those of *consumer*."""
        concurrency = options.get("concurrency", TASKS if consumer.in_tasks else THREADS)
        visibility = hidden_seconds(options.get("visibility", max(source.visibility, VISIBILITY_MIN)))
        grace = seconds_of(options.get("grace_seconds", GRACE_SECONDS), "grace_seconds")
        stop = StopRequest(options["stop"]) if "stop" in options else StopRequest()
        return cls(source, consumer, concurrency, visibility, grace, stop)

    def __post_init__(self) -> None:
        self.time_left = TimeLeft()
        performer = ConsumerPerformer(self.consumer.within(self.time_left))
        leases = Leases(self.source, self.visibility)
        self.worker = Worker(InFlight(self.concurrency), leases, performer)
        self.threads = Threads(self.worker, in_threads=not self.consumer.in_tasks)
        self._reported_at, self._reported = clock(), 0

    def run(self) -> WorkSummary:
        """Work until a stop, and return what was done. Raises the error that stopped the worker itself."""
        with self.stop.at_signals():
            if not self.stop.asked.is_set():
                self._start()
            try:
                while not self.stop.asked.wait(LOOK_SECONDS) and self.worker.error is None:
                    self._report()
                unfinished = self._stop()
            finally:
                self.threads.has_ended.set()
        if self.worker.error is not None:
            raise self.worker.error
        counts = self.worker.counts
        deleted, returned, released, lost = (counts[name] for name in COUNTED)
        return WorkSummary(deleted, returned, released, lost, unfinished, self.stop.interrupted)

    def _start(self) -> None:
        kind = "tasks" if self.consumer.in_tasks else "threads"
        line = "works on %s in %d %s; messages are hidden for %d s at a time"
        logger.info(line, self.source.name, self.concurrency, kind, self.visibility)
        self.threads.start()
        if self.consumer.in_tasks:
            from fanin.client.sqs_worker.tasks import Tasks  # noqa: PLC0415  # importing asyncio takes 0.1 s

            Tasks(self.worker, self.threads.has_ended).start()

    def _stop(self) -> int:
        """Finish or return what is in flight; return how many messages were still under work at the end."""
        end = clock() + self.grace
        self.time_left.until = end - SETTLE_SECONDS
        self.worker.stop()
        in_flight = self.worker.in_flight
        line = "stopping: %d messages are under work, for at most %.0f s"
        logger.info(line, len(in_flight.working), self.grace)
        self._wait_until(self.time_left.until)
        unfinished = self.worker.abandon()
        if unfinished:
            logger.warning("%d messages return to the queue, their work was not done in time", unfinished)
        self._wait_until(min(end, clock() + SETTLE_SECONDS))
        self._log("stopped")
        return unfinished

    def _wait_until(self, end: float) -> None:
        """Wait until nothing is in flight, at most until *end*, or a second request to stop."""
        in_flight = self.worker.in_flight
        while in_flight.count and clock() < end and not self.stop.now.is_set():
            with in_flight.is_empty:
                in_flight.is_empty.wait_for(lambda: not in_flight.count, LOOK_SECONDS)

    def _report(self) -> None:
        """Log the progress once a minute."""
        if clock() - self._reported_at >= REPORT_SECONDS:
            self._log("works")

    def _log(self, what: str) -> None:
        counts, in_flight, now = self.worker.counts, self.worker.in_flight, clock()
        seconds = max(now - self._reported_at, 0.001)
        rate = (counts["deleted"] - self._reported) / seconds
        self._reported_at, self._reported = now, counts["deleted"]
        facts = {**counts, "inFlight": in_flight.count, "aSecond": round(rate, 1)}
        line = (
            "%s on %s: %d messages deleted (%.1f a second), %d returned, %d released, %d lost, %d in flight"
        )
        numbers = (counts[name] for name in ("returned", "released", "lost"))
        logger.info(
            line, what, self.source.name, counts["deleted"], rate, *numbers, in_flight.count, extra=facts
        )
