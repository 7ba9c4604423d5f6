"""The queue that one process uses: it adds, takes, lists and maintains jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from fanin.arguments import Seconds, one_of, seconds_of
from fanin.queue.administration.listing import Listings
from fanin.queue.context import QueueContext
from fanin.queue.doorbell import Doorbell
from fanin.queue.interface import WorkersQueue
from fanin.queue.maintenance.visiting import visit
from fanin.queue.producer import Producer
from fanin.queue.rules import messages
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import SECONDS_MAX, Job, NewJob, OnBusy, Rejected
from fanin.queue.rules.taking import TakeRequest, checked_wait, new_job_of, new_jobs
from fanin.queue.scope import Jobs
from fanin.queue.sessions.background import Background, in_threads
from fanin.queue.sessions.taker import Taker
from fanin.user_functions import block


@dataclass
class Queue(Listings, WorkersQueue[Job]):
    """One queue of distinct jobs, as one process uses it. Safe to share between threads.

    A forked child does not share its parent's session and jobs; its first take starts a session of its own.

    """

    context: QueueContext
    background: Background = in_threads
    taker: Taker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.taker = Taker(self.context, self.background)

    @property
    def key(self) -> QueueKey:
        return self.context.key

    def add(self, job: str | NewJob, payload: Any = None, *, on_busy: str = OnBusy.REJECT) -> bool:
        """Add a job, given as a ``NewJob`` or by its key; return False where a job of the key is live.

        With ``on_busy="rerun"`` a busy job runs once more after its end, and the answer is True.
        """
        return not self.add_all([new_job_of(job, payload)], on_busy=on_busy)

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        """Add each job; return the rejected ones, repeated keys among *jobs* included."""
        one_of(on_busy, list(OnBusy), "on_busy")
        return Producer(self.context).add_all(new_jobs(jobs), OnBusy(on_busy))

    def take(self, most: int = 1, wait: Seconds | None = None, parts: Sequence[int] | None = None) -> Jobs:
        """Return a scope of 1 to *most* jobs; of none after *wait* seconds without any (None: no limit).

        *parts*: the parts to look in, by default those of this session. A paused queue has no job to take.
        Entering the scope raises SessionLost once if this process has lost its session since its last take.
        """
        return self._scope(TakeRequest(most, checked_wait(wait), parts))

    @block
    def bounded(self, seconds: Seconds) -> Iterator[Queue]:
        """Yield the queue with a session of *seconds* and no heartbeat, as a Lambda function needs it."""
        with self.taker.bounded(seconds_of(seconds, "seconds", SECONDS_MAX)) as taker:
            bounded = replace(self)
            bounded.taker = taker
            yield bounded

    @block
    def answer(self, event: Mapping[str, Any], context: Any) -> Iterator[Jobs]:
        """Yield the jobs of one invocation of a Lambda function whose event source is this queue's doorbell.

        *event*, *context*: the arguments of the invocation; its session ends with its time. At most one job
        is taken for each ring, in the part that it names. Leaving the block is as with ``take``; an exception
        is raised again, so that SQS delivers the rings again. A queue that is removed has no jobs: its last
        rings are used up. Raises InvalidRequest if a message is not a ring of this queue.
        """
        rings, seconds = messages.rings_of(self.key, event), messages.seconds_left(context)
        config = self.context.read_config()
        if config is None or config.removing_us is not None:
            yield self.take()  # not entered, it has no jobs
            return
        with self.bounded(seconds) as bounded, bounded._scope(TakeRequest(rings=rings)) as jobs:
            yield jobs

    def separate(self, doorbell: Callable[[Doorbell], Doorbell]) -> Self:
        """Return a queue with a session of its own, whose waiting goes through *doorbell*."""
        context = replace(self.context, doorbell=doorbell(self.context.doorbell))
        queue = replace(self, context=context)
        queue.taker = self.taker.separate(context)
        return queue

    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting failures, and end the session."""
        self.taker.close()

    def sweep(self) -> None:
        """Run the scheduled sweep: raise parts, end overdue sessions, free, promote, ring, report the outbox.

        Where it finds nothing repeatedly, the queue falls asleep, until a job is added.
        """
        visit(self.context)

    def _scope(self, request: TakeRequest) -> Jobs:
        return Jobs(self.taker, request)
