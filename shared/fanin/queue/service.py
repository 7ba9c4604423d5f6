"""The work queue's face: producers add, consumers take, everybody may look."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from fanin.aws.forking import PerProcess
from fanin.calling import block, done, has_text, plain, text_of
from fanin.errors import Conflict, InvalidRequest, StoreUnavailable
from fanin.queue import listing, messages, worker
from fanin.queue.background import Background, in_threads
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.errors import ShutDown
from fanin.queue.fair_lock import Turnstile
from fanin.queue.keys import QueueKey
from fanin.queue.lifecycle import telling
from fanin.queue.maintenance import Tell
from fanin.queue.model import Dead, Depth, Job, JobState, Member, NewJob, OnBusy, Options, Rejected, Ring
from fanin.queue.producer import Producer
from fanin.queue.scope import Jobs
from fanin.queue.store import QueueStore
from fanin.queue.worker import Place, Worker

logger = logging.getLogger("fanin")

SILENCES = 8
"""Refused looks in a row after which a waiting take gives up."""


@dataclass
class Presence:
    """What a queue has in one process: a worker once it has taken jobs, and the takes that wait."""

    worker: Worker | None = None
    turnstile: Turnstile = field(default_factory=Turnstile)
    lock: threading.RLock = field(default_factory=threading.RLock)


def absent() -> PerProcess[Presence]:
    """Nothing yet, in this process or in one forked from it."""
    return PerProcess(Presence)


@dataclass
class Queue:
    """One queue of distinct jobs, as one process uses it. Safe to share between threads.

    A forked child has no part in its parent's session and jobs; its first take starts a session of its own.

    *tell* is told of the end of each job that carries an item id, at least once.
    """

    store: QueueStore
    doorbell: Doorbell
    key: QueueKey
    options: Options = field(default_factory=Options)
    effects: Effects = field(default_factory=Effects)
    background: Background = in_threads
    tell: Tell | None = None
    _place: Place | None = field(default=None, repr=False)
    _closed: bool = False
    _present_in: PerProcess[Presence] = field(default_factory=absent, repr=False)

    def __post_init__(self) -> None:
        """Refuse a *tell* that does no work when it is called."""
        plain(self.tell, "tell")

    @classmethod
    def at(cls, place: Place) -> Self:
        """The queue at a place that is known; one made otherwise asks for it, and may be its first user."""
        return cls(
            place.store,
            place.doorbell,
            place.queue,
            place.options,
            place.effects,
            tell=place.tell,
            _place=place,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, job: str | NewJob, payload: str | None = None, *, on_busy: str = OnBusy.REJECT) -> bool:
        """Add a job, given whole or as its distinct key; False where one of its key is alive.

        With ``on_busy="rerun"`` a job that is being worked on runs once more afterwards, and that is True.
        """
        wish = job if isinstance(job, NewJob) else NewJob(job, payload)
        return not self.add_all([wish], on_busy=on_busy)

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        """Add each; the refused ones, those that came twice among *jobs* included."""
        place = self.place()
        producer = Producer(place.store, place.doorbell, place.queue, place.parts, place.effects)
        wishes = [job if isinstance(job, NewJob) else NewJob(job) for job in jobs]
        return producer.add_all(wishes, OnBusy(on_busy))

    def take(self, most: int = 1, wait: float | None = None, parts: Sequence[int] | None = None) -> Jobs:
        """A scope of 1 to *most* jobs; none after *wait* seconds without any (None: waits on).

        *parts*: look there instead of into one's own parts, as a function does that a ring has started.
        """
        if most < 1:
            raise InvalidRequest("a take asks for 1 job at least", field="most")
        return Jobs(lambda: self._taken(most, wait, parts), self._told, self.options.retry_delay)

    def stream(self, wait: float | None = None) -> Iterator[Job]:
        """One job after the other, each acked when the next is asked for.

        Where the loop is left, by whatever way, the present job returns to its place and nothing is counted;
        use ``take`` where an error is to count. Ends after *wait* seconds without a job, or when closed.
        """
        with suppress(ShutDown):
            while True:
                with self.take(1, wait) as jobs:
                    if not jobs:
                        return
                    yield from jobs

    @block
    def bounded(self, seconds: float) -> Iterator[Queue]:
        """The queue for at most so many seconds, as a function's invocation has it: without a heartbeat."""
        presence = absent()
        presence().worker = worker.start_bounded(self.place(), seconds)
        try:
            yield replace(self, _present_in=presence)
        finally:
            if (bounded := presence().worker) is not None:  # not in a forked child
                bounded.leave()

    @block
    def answer(self, event: Mapping[str, Any], context: Any) -> Iterator[Jobs]:
        """A scope in a Lambda function that this queue's own doorbell feeds: a job for each ring at most.

        *event*, *context*: the invocation's; its session ends with its time. Leaving the block is as with
        ``take``; an exception goes on, and has the rings delivered again. Raises InvalidRequest where a
        message is no ring of this queue.
        """
        rings = messages.rings_of(self.key, event)
        parts = sorted({ring.part for ring in rings})
        with self.bounded(context.get_remaining_time_in_millis() / 1000) as bounded:
            _promote(bounded._present(), rings)
            with bounded.take(len(rings), wait=0, parts=parts) as jobs:
                yield jobs

    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting, and leave at once."""
        here = self._present_in()
        with here.lock:
            self._closed = True
            leaving, here.worker = here.worker, None
        if leaving is not None:
            leaving.leave()

    def sweep(self) -> None:
        """What a scheduled function does for workers that do not stay: free, promote, ring, tell."""
        place = self.place()
        janitor = place.janitor()
        janitor.look()
        janitor.end_the_overdue()
        janitor.sweep(range(place.parts))
        janitor.tell_the_outside()

    def queued(self, limit: int = 100) -> list[Job]:
        """The ready jobs, the next first; exact for each part, merged over the parts."""
        return listing.jobs(self.place(), JobState.READY, limit)

    def in_progress(self, limit: int = 100) -> list[Job]:
        """The busy jobs, in the order of their places."""
        return listing.jobs(self.place(), JobState.BUSY, limit)

    def delayed(self, limit: int = 100) -> list[Job]:
        """The delayed jobs, the next due first."""
        return listing.jobs(self.place(), JobState.DELAYED, limit)

    def dead(self, limit: int = 100) -> list[Dead]:
        """The dead jobs, the longest dead first."""
        return list(self.store.dead(self.key, limit))

    def revive(self, dead: Dead) -> bool:
        """Return a dead job to its old place, failures forgiven.

        False where its key is alive again, or this death was revived before: perhaps by a call of this
        process that raised StoreUnavailable, since its request may have been applied.
        """
        return listing.revive(self.place(), dead)

    def sessions(self) -> list[Member]:
        """Who works here: each session with its host, its process, its beginning and its heartbeats."""
        return list(self.store.members(self.key))

    def depth(self) -> Depth:
        """How full the queue is."""
        return listing.depth(self.place())

    def place(self) -> Place:
        """The queue as it is stored; its number of parts is fixed by its first user."""
        if self._place is None:
            parts = self.effects.insist(lambda: self.store.configure(self.key, self.options.parts))
            if parts != self.options.parts:
                raise Conflict(f"queue {self.key.name} has {parts} parts, not {self.options.parts}")
            self._place = Place(
                self.store, self.doorbell, self.key, parts, self.options, self.effects, self.tell
            )
        return self._place

    @property
    def _worker(self) -> Worker | None:
        return self._present_in().worker

    @property
    def _turnstile(self) -> Turnstile:
        return self._present_in().turnstile

    def _taken(self, most: int, wait: float | None, parts: Sequence[int] | None) -> tuple[Worker, list[Job]]:
        deadline = None if wait is None else self.effects.monotonic() + wait
        with self._turnstile.turn(wait) as mine:
            worker = self._present()
            if not mine:
                return worker, []
            return self._wait_for_jobs(most, deadline, parts)

    def _wait_for_jobs(
        self, most: int, deadline: float | None, parts: Sequence[int] | None
    ) -> tuple[Worker, list[Job]]:
        """Look, then listen at the doorbell, in turns; the tables are not asked while nobody rings."""
        rings: Sequence[Ring] = ()
        silences = 0
        while True:
            worker = self._present()
            try:
                jobs = self._look(worker, most, parts, rings)
                left = self._left(deadline)
                if jobs or left <= 0:
                    return worker, jobs
                rings, silences = self.doorbell.wait(left, most), 0
            except StoreUnavailable:
                silences += 1
                if silences == SILENCES:
                    raise
                self.effects.pause(silences)

    def _look(
        self, worker: Worker, most: int, parts: Sequence[int] | None, rings: Sequence[Ring]
    ) -> list[Job]:
        """Claim where somebody rang, whoever owns that part; in one's own parts where nobody did."""
        _promote(worker, rings)
        rung = list(dict.fromkeys(ring.part for ring in rings))
        jobs = worker.take(rung or (worker.janitor.own_parts() if parts is None else parts), most)
        try:
            self._heard(rings)
        except BaseException:
            worker.claims.give_back_all(jobs)
            raise
        return jobs

    def _heard(self, rings: Sequence[Ring]) -> None:
        if rings:
            with suppress(StoreUnavailable):
                self.doorbell.heard(rings)

    def _left(self, deadline: float | None) -> float:
        longest = self.options.doorbell_wait
        return longest if deadline is None else min(longest, deadline - self.effects.monotonic())

    def _present(self) -> Worker:
        """The worker of this process: the one there is, or a new one where that was given up."""
        here = self._present_in()
        with here.lock:
            if self._closed:
                raise ShutDown(f"queue {self.key.name} was closed in this process")
            self._retire(here)
            if here.worker is None:
                here.worker = worker.start(self.place(), self.background)
            return here.worker

    def _retire(self, here: Presence) -> None:
        """Leave a session that was given up; one that was bounded from the start has no successor."""
        lost = here.worker
        if lost is None or lost.session.alive():
            return
        if not lost.session.member.beats:
            raise ShutDown(f"the time for queue {self.key.name} is over")
        here.worker = None
        lost.leave()

    def _told(self, job: Job) -> None:
        """Tell the outside of an end at once; the sweep does it where this process does not get to it."""
        told = telling(job, None)
        if told is None or self.tell is None:
            return
        try:
            done(self.tell(told), "tell")
            self.store.told(self.key, told)
        except Exception as error:  # the job is done, and the others of its scope are not affected
            line = "the end of job %s is not told yet: %s"
            logger.warning(line, job.id, text_of(error), exc_info=error if has_text(error) else None)


def _promote(worker: Worker, rings: Iterable[Ring]) -> None:
    """Make ready what is due where a ring says so."""
    for part in {ring.part for ring in rings if ring.due}:
        worker.janitor.promote_due(part)
