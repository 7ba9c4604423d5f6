"""The queue that one process uses: it adds, takes, lists and maintains jobs."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from fanin.arguments import number_of_seconds, one_of
from fanin.aws.forking import PerProcess
from fanin.calling import block, finished, has_text, text_of
from fanin.errors import Conflict, StoreUnavailable
from fanin.queue.administration.listing import Listings
from fanin.queue.context import QueueContext
from fanin.queue.rules import messages
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import SessionLost, ShutDown
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.lifecycle import outbox_entry
from fanin.queue.rules.model import SECONDS_MAX, Job, NewJob, OnBusy, Rejected, Ring
from fanin.queue.rules.taking import TakeRequest, checked_wait, new_job_of, new_jobs
from fanin.queue.scope import Jobs, Take
from fanin.queue.upkeep.visiting import visit
from fanin.queue.working import worker
from fanin.queue.working.background import Background, in_threads
from fanin.queue.working.fair_lock import FairLock
from fanin.queue.working.producer import Producer
from fanin.queue.working.worker import Worker

logger = logging.getLogger("fanin")

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
class Queue(Listings):
    """One queue of distinct jobs, as one process uses it. Safe to share between threads.

    A forked child does not share its parent's session and jobs; its first take starts a session of its own.

    """

    context: QueueContext
    background: Background = in_threads
    _closed: bool = False
    _process: PerProcess[ProcessState] = field(default_factory=new_process_state, repr=False)

    @property
    def key(self) -> QueueKey:
        return self.context.key

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, job: str | NewJob, payload: str | None = None, *, on_busy: str = OnBusy.REJECT) -> bool:
        """Add a job, given as a ``NewJob`` or by its key; return False where a job of the key is live.

        With ``on_busy="rerun"`` a busy job runs once more after its end, and the answer is True.
        """
        return not self.add_all([new_job_of(job, payload)], on_busy=on_busy)

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        """Add each job; return the rejected ones, repeated keys among *jobs* included."""
        one_of(on_busy, list(OnBusy), "on_busy")
        return Producer(self.context).add_all(new_jobs(jobs), OnBusy(on_busy))

    def take(self, most: int = 1, wait: float | None = None, parts: Sequence[int] | None = None) -> Jobs:
        """Return a scope of 1 to *most* jobs; of none after *wait* seconds without any (None: no limit).

        *parts*: the parts to look in, by default those of this session. A paused queue has no job to take.
        Entering the scope raises SessionLost once if this process has lost its session since its last take.
        """
        request = TakeRequest(most, wait, parts)
        return self._scope(lambda: self._take(request))

    def stream(self, wait: float | None = None) -> Iterator[Job]:
        """Yield one job after the other, and ack each when the next one is requested.

        Leaving the loop early returns the current job to its position and counts no failure; use ``take``
        where an error counts. Ends after *wait* seconds without a job, or when the queue is closed.
        """
        return self._stream(checked_wait(wait))

    def _stream(self, wait: float | None) -> Iterator[Job]:
        with suppress(ShutDown):
            while True:
                with self.take(1, wait) as jobs:
                    if not jobs:
                        return
                    yield from jobs

    @block
    def bounded(self, seconds: float) -> Iterator[Queue]:
        """Yield the queue with a session of *seconds* and no heartbeat, as a Lambda function needs it."""
        number_of_seconds(seconds, "seconds", SECONDS_MAX)
        state = new_process_state()
        state().worker = worker.start_bounded(self.context, seconds)
        try:
            yield replace(self, _process=state)
        finally:
            if (bounded := state().worker) is not None:  # not in a forked child
                bounded.leave()

    @block
    def answer(self, event: Mapping[str, Any], context: Any) -> Iterator[Jobs]:
        """Yield the jobs of one invocation of a Lambda function whose event source is this queue's doorbell.

        *event*, *context*: the arguments of the invocation; its session ends with its time. At most one job
        is taken for each ring, in the part that it names. Leaving the block is as with ``take``; an exception
        is raised again, so that SQS delivers the rings again. A queue that is removed has no jobs: its last
        rings are used up. Raises InvalidRequest if a message is not a ring of this queue.
        """
        rings, left = messages.rings_of(self.key, event), messages.seconds_left(context)
        config = self.context.read_config()
        if config is None or config.removing_us is not None:
            yield self.take()  # not entered, it has no jobs
            return
        with self.bounded(left) as bounded, self._scope(lambda: bounded._take_rung(rings)) as jobs:
            yield jobs

    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting failures, and end the session."""
        state = self._process()
        with state.lock:
            self._closed = True
            leaving, state.worker = state.worker, None
        if leaving is not None:
            leaving.leave()

    def sweep(self) -> None:
        """Run the scheduled sweep: raise parts, end overdue sessions, free, promote, ring, report the outbox.

        Where it finds nothing repeatedly, the queue falls asleep, until a job is added.
        """
        visit(self.context)

    def _scope(self, take: Take) -> Jobs:
        return Jobs(take, self._report_end, self.context.options.retry_delay)

    @property
    def _worker(self) -> Worker | None:
        return self._process().worker

    @property
    def _take_lock(self) -> FairLock:
        return self._process().take_lock

    def _take_rung(self, rings: Sequence[Ring]) -> tuple[Worker, list[Job]]:
        """Claim as many jobs of each part as *rings* has of it: one more would leave another without."""
        worker = self._live_worker()
        if self._existing().paused:
            return worker, []
        _promote(worker, rings)
        return worker, worker.claims.take_each(Counter(ring.part for ring in rings))

    def _take(self, request: TakeRequest) -> tuple[Worker, list[Job]]:
        wait = request.wait
        deadline = None if wait is None else self.context.effects.monotonic() + wait
        with self._take_lock.acquired(wait) as acquired:
            worker = self._live_worker()
            if not acquired:
                return worker, []
            return self._wait_for_jobs(request, deadline)

    def _wait_for_jobs(self, request: TakeRequest, deadline: float | None) -> tuple[Worker, list[Job]]:
        """Look for jobs, then wait at the doorbell, in turns: no table is read while no ring arrives."""
        rings: Sequence[Ring] = ()
        failed = 0
        while True:
            worker = self._live_worker()
            try:
                config = self._existing()
                jobs = [] if config.paused else self._look(worker, request.within(config.parts), rings)
                left = self._wait_seconds(deadline)
                if jobs or left <= 0:
                    return worker, jobs
                rings, failed = self._wait(left, request.most, paused=config.paused), 0
            except StoreUnavailable:
                failed += 1
                if failed == TAKE_ATTEMPTS:
                    raise
                self.context.effects.pause(failed)

    def _existing(self) -> QueueConfig:
        """Return the config. Raises Conflict for a queue that was removed since the session began."""
        config = self.context.known()
        if config is None:
            raise Conflict(f"queue {self.key.name!r} was removed while this process took jobs of it")
        return config

    def _wait(self, left: float, most: int, *, paused: bool) -> Sequence[Ring]:
        """Wait for rings; while the queue is paused, wait until the config is to be looked at again."""
        if not paused:
            return self.context.wait(left, most)
        self.context.pause(min(left, PAUSED_SECONDS))
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

    def _wait_seconds(self, deadline: float | None) -> float:
        longest = self.context.options.doorbell_wait
        return longest if deadline is None else min(longest, deadline - self.context.effects.monotonic())

    def _live_worker(self) -> Worker:
        """Return the worker of this process; a new one where there is none, or its session is over."""
        state = self._process()
        with state.lock:
            if self._closed:
                raise ShutDown(f"queue {self.key.name} was closed in this process")
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
            raise ShutDown(f"queue {self.key.name}: the session of this invocation has expired")
        state.worker = None
        lost.leave()
        if not self.context.options.renew:
            raise SessionLost(f"queue {self.key.name}: {_WHY_LOST}")

    def _report_end(self, job: Job) -> None:
        """Report the end of an acked job at once; where that fails, the sweep reports its outbox entry."""
        entry, report = outbox_entry(job, None), self.context.report
        if entry is None or report is None:
            return
        try:
            finished(report(entry), "report")
            self.context.store.delete_outbox_entry(self.key, entry)
        except Exception as error:  # the job is done, and the others of its scope are not affected
            line = "the end of job %s is not reported yet, the sweep repeats it: %s"
            logger.warning(line, job.id, text_of(error), exc_info=error if has_text(error) else None)


def _promote(worker: Worker, rings: Iterable[Ring]) -> None:
    """Make due jobs ready in the parts whose ring says that one is due."""
    for part in {ring.part for ring in rings if ring.due}:
        worker.maintenance.promote_due(part)
