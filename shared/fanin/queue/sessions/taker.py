"""Takes jobs for one process: starts its session, claims jobs, and waits at the doorbell for more."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from fanin.aws.forking import PerProcess
from fanin.errors import Conflict, StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import SessionLost, ShutDown
from fanin.queue.rules.model import Job, Ring
from fanin.queue.rules.taking import TakeRequest
from fanin.queue.sessions import worker
from fanin.queue.sessions.background import Background
from fanin.queue.sessions.worker import Worker


@dataclass
class FairLock:
    """A lock that callers acquire in the order in which they asked for it."""

    line: deque[object] = field(default_factory=deque)
    moved: threading.Condition = field(default_factory=threading.Condition, repr=False)

    @contextmanager
    def acquired(self, seconds: float | None) -> Iterator[bool]:
        """Yield whether the lock was acquired within *seconds* (None: no limit); release it afterwards."""
        ticket = object()
        try:
            with self.moved:
                self.line.append(ticket)
                is_first = self.moved.wait_for(lambda: self.line[0] is ticket, seconds)
            yield is_first
        finally:
            with self.moved:
                if ticket in self.line:  # an interruption may come before it is
                    self.line.remove(ticket)
                self.moved.notify_all()


PAUSED_SECONDS = 1.0
"""How long a take waits before it looks again whether the queue is still paused."""
TAKE_ATTEMPTS = 8
"""Failed requests in a row after which a waiting take raises StoreUnavailable."""


_WHY_LOST = (
    "the session of this process got no heartbeat through in time, or was ended by another worker: its jobs"
    " run elsewhere. The next take starts a new session; Options(renew=True) does so without this error"
)


@dataclass
class ProcessState:
    """What a queue has in one process: a worker once it has taken jobs, and the lock of its takes."""

    worker: Worker | None = None
    take_lock: FairLock = field(default_factory=FairLock)
    lock: threading.RLock = field(default_factory=threading.RLock)


def new_process_state() -> PerProcess[ProcessState]:
    """Return an empty state for this process, and for each process forked from it."""
    return PerProcess(ProcessState)


@dataclass
class Taker:
    """The takes of one process on one queue; they share its worker, and look for jobs one at a time."""

    context: QueueContext
    background: Background
    closed: bool = False
    process: PerProcess[ProcessState] = field(default_factory=new_process_state, repr=False)

    @property
    def worker(self) -> Worker | None:
        return self.process().worker

    @property
    def lock(self) -> FairLock:
        return self.process().take_lock

    def separate(self, context: QueueContext) -> Taker:
        """Return a taker with *context* and a session of its own."""
        return replace(self, context=context, process=new_process_state())

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[Taker]:
        """Yield a taker whose session has no heartbeat and lasts for *seconds*."""
        taker = self.separate(self.context)
        taker.process().worker = worker.start_bounded(self.context, seconds)
        try:
            yield taker
        finally:
            if (bounded := taker.worker) is not None:  # not in a forked child
                bounded.leave()

    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting failures, and end the session."""
        state = self.process()
        with state.lock:
            self.closed = True
            leaving, state.worker = state.worker, None
        if leaving is not None:
            leaving.leave()

    def take(self, request: TakeRequest) -> tuple[Worker, list[Job]]:
        """Claim jobs, and wait for the first one; return them with the worker that holds their claims."""
        if request.rings is not None:
            return self._take_rung(request.rings)
        wait = request.wait
        deadline = None if wait is None else self.context.effects.monotonic() + wait
        with self.lock.acquired(wait) as acquired:
            worker = self._live_worker()
            if not acquired:
                return worker, []
            return self._wait_for_jobs(request, deadline)

    def _take_rung(self, rings: Sequence[Ring]) -> tuple[Worker, list[Job]]:
        """Claim as many jobs of each part as *rings* has of it: one more would leave another without."""
        worker = self._live_worker()
        if self._existing().paused:
            return worker, []
        _promote(worker, rings)
        return worker, worker.claims.take_each(Counter(ring.part for ring in rings))

    def _wait_for_jobs(self, request: TakeRequest, deadline: float | None) -> tuple[Worker, list[Job]]:
        """Look for jobs, then wait at the doorbell, in turns: no table is read while no ring arrives."""
        rings: Sequence[Ring] = ()
        failed = 0
        while True:
            worker = self._live_worker()
            try:
                config = self._existing()
                jobs = [] if config.paused else self._look(worker, request.within(config.parts), rings)
                seconds = self._seconds_left(deadline)
                if jobs or seconds <= 0:
                    return worker, jobs
                rings, failed = self._wait(seconds, request.most, paused=config.paused), 0
            except StoreUnavailable:
                failed += 1
                if failed == TAKE_ATTEMPTS:
                    raise
                self.context.effects.pause(failed)

    def _existing(self) -> QueueConfig:
        """Return the config. Raises Conflict for a queue that was removed since the session began."""
        config = self.context.known()
        if config is None:
            raise Conflict(f"queue {self.context.key.name!r} was removed while this process took jobs of it")
        return config

    def _wait(self, seconds: float, most: int, *, paused: bool) -> Sequence[Ring]:
        """Wait for rings; while the queue is paused, wait until the config is to be looked at again."""
        if not paused:
            return self.context.wait(seconds, most)
        self.context.pause(min(seconds, PAUSED_SECONDS))
        return ()

    def _look(self, worker: Worker, request: TakeRequest, rings: Sequence[Ring]) -> list[Job]:
        """Claim jobs in the parts of the rings, whichever session owns them; without rings in its parts."""
        _promote(worker, rings)
        rung = list(dict.fromkeys(ring.part for ring in rings))
        jobs = worker.take(rung or request.parts or worker.maintenance.own_parts(), request.most)
        try:
            self._delete(rings)
        except BaseException:
            worker.claims.give_back_all(jobs)
            raise
        return jobs

    def _delete(self, rings: Sequence[Ring]) -> None:
        if rings:
            self.context.delete(rings)

    def _seconds_left(self, deadline: float | None) -> float:
        longest = self.context.options.doorbell_wait
        return longest if deadline is None else min(longest, deadline - self.context.effects.monotonic())

    def _live_worker(self) -> Worker:
        """Return the worker of this process; a new one where there is none, or its session is over."""
        state = self.process()
        with state.lock:
            if self.closed:
                raise ShutDown(f"queue {self.context.key.name} was closed in this process")
            self._drop_lost(state)
            if state.worker is None:
                state.worker = worker.start(self.context, self.background)
            return state.worker

    def _drop_lost(self, state: ProcessState) -> None:
        """Drop a worker whose session is over; ShutDown where it was bounded, SessionLost unless renewed."""
        lost = state.worker
        if lost is None or lost.session.alive():
            return
        if not lost.session.member.beats:
            raise ShutDown(f"queue {self.context.key.name}: the session of this invocation has expired")
        state.worker = None
        lost.leave()
        if not self.context.options.renew:
            raise SessionLost(f"queue {self.context.key.name}: {_WHY_LOST}")


def _promote(worker: Worker, rings: Iterable[Ring]) -> None:
    """Make due jobs ready in the parts whose ring says that one is due."""
    for part in {ring.part for ring in rings if ring.due}:
        worker.maintenance.promote_due(part)
