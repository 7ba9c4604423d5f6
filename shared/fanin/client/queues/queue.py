"""A work queue of the client: its administration goes where the client goes, its jobs to the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, get_args

from fanin import queue as rows
from fanin.arguments import Seconds, flag, listed, one_of, text, whole
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.client.model import QueueDescription
from fanin.client.queues.queue_model import (
    DeletedJobs,
    Job,
    QueueSession,
    QueueStatus,
    RejectedJob,
    RevivedJobs,
)
from fanin.client.queues.scope import Jobs
from fanin.errors import InvalidRequest
from fanin.queue import Doorbell, NewJob, OnBusy
from fanin.queue.interface import WorkersQueue
from fanin.queue.rules.keys import PARTS_MAX
from fanin.queue.rules.taking import new_job_of, new_jobs
from fanin.types import ListedStateText, OnBusyText
from fanin.user_functions import block

JOB_STATES: tuple[ListedStateText, ...] = get_args(ListedStateText)
NO_WORKER = (
    "a client of the API alone cannot take jobs of queue {!r}: a worker needs the queues' table, so set"
    " FANIN_QUEUE_TABLE (the stack's output QueueTable) and FANIN_TENANT, or pass"
    " at=JobSettings(table=..., tenant=...), with AWS credentials for them"
)

NO_COPY = (
    "queue {!r} is not pickled, because its jobs are in the memory of one process: make the other process's"
    " queue by a client over HTTP or of tables"
)


class QueuePort(Protocol):
    """The calls about one queue, over the API or on the table; their arguments are checked."""

    def add_all(self, jobs: Sequence[NewJob], on_busy: OnBusy) -> tuple[RejectedJob, ...]: ...

    def ensure(self, parts: int | None, metrics: bool | None) -> QueueDescription: ...

    def status(self) -> QueueStatus: ...

    def sessions(self) -> Iterator[QueueSession]: ...

    def jobs(self, state: ListedStateText) -> Iterator[Job]: ...

    def revive(self, dead_ids: Sequence[str]) -> RevivedJobs: ...

    def revive_all(self) -> RevivedJobs: ...

    def delete(self, keys: Sequence[str], dead_ids: Sequence[str]) -> DeletedJobs: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def remove(self, force: bool) -> None: ...


class Queue(WorkersQueue[Job]):
    """A work queue of distinct jobs. Safe to share between threads.

    Every call but those of a worker (``take``, ``stream``, ``answer``, ``bounded``, ``sweep``) works with the
    API alone, without table, tenant and AWS credentials; a worker uses the table and the doorbell. Calls
    about a queue that does not exist raise NotFound, except that an add, a take and ``ensure`` create it.
    A forked child, or a pickled copy, does not share the session and the jobs; its first take starts a
    session of its own. *again*: makes a copy; None where there is none.
    """

    def __init__(
        self,
        name: str,
        calls: Callable[[], QueuePort],
        worker: rows.Queue | None = None,
        again: Callable[[], Queue] | None = None,
    ) -> None:
        self.name = name
        self._calls = calls
        self._worker = worker
        self._again = again

    def __reduce__(self) -> Any:
        """Return how a copy is made, which connects anew, as one of the client."""
        if self._again is None:
            raise InvalidRequest(NO_COPY.format(self.name))
        return self._again, ()

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"

    @property
    def has_worker(self) -> bool:
        """Whether jobs can be taken, which needs the table."""
        return self._worker is not None

    def add(
        self, job: str | NewJob, payload: Any = None, *, on_busy: OnBusy | OnBusyText = OnBusy.REJECT
    ) -> bool:
        """Add a job, given as a ``NewJob`` or by its key; return False where a job of the key is live.

        *payload*: a value of JSON, at most 128 KiB as text. With ``on_busy="rerun"`` a job in progress runs
        once more after its end, and the answer is True.
        """
        return not self.add_all([new_job_of(job, payload)], on_busy=on_busy)

    def add_all(
        self, jobs: Iterable[str | NewJob], *, on_busy: OnBusy | OnBusyText = OnBusy.REJECT
    ) -> tuple[RejectedJob, ...]:
        """Add each job; return the rejected ones, repeated keys among *jobs* included."""
        one_of(on_busy, list(OnBusy), "on_busy")
        return self._calls().add_all(new_jobs(jobs), OnBusy(on_busy))

    def ensure(self, *, parts: int | None = None, metrics: bool | None = None) -> QueueDescription:
        """Create the queue, unless it exists, and return it with its doorbell.

        *parts*: 1 to 256, in a new queue 8; more raise those of a queue that exists, fewer are a Conflict.
        *metrics*: whether it has CloudWatch metrics of its own. None leaves each as it is.
        """
        wanted = None if parts is None else whole(parts, "parts", 1, PARTS_MAX)
        return self._calls().ensure(wanted, None if metrics is None else flag(metrics, "metrics"))

    def status(self) -> QueueStatus:
        """Return the queue with the number of its jobs in each state, counted now."""
        return self._calls().status()

    def sessions(self) -> Iterator[QueueSession]:
        """Yield the sessions in the order of their ids."""
        return self._calls().sessions()

    def jobs(self, state: ListedStateText = "queued") -> Iterator[Job]:
        """Yield the jobs in a state: ``queued``, ``inProgress``, ``delayed`` or ``dead``.

        Queued jobs come by priority, then age; jobs in progress by session; delayed ones by due time, dead
        ones by death.
        """
        one_of(state, JOB_STATES, "state")
        return self._calls().jobs(state)

    def revive(self, dead_ids: Iterable[str]) -> RevivedJobs:
        """Return dead jobs, by their ``dead_id``, to their old positions, without failures; repeatable."""
        with named_as_arguments():
            return self._calls().revive(_texts(dead_ids, "dead_ids"))

    def revive_all(self) -> RevivedJobs:
        """Return all dead jobs to their old positions, the longest dead first."""
        return self._calls().revive_all()

    def delete(self, keys: Iterable[str] = (), *, dead_ids: Iterable[str] = ()) -> DeletedJobs:
        """Delete queued and delayed jobs by their keys, whose items fail, and dead ones by ``dead_id``."""
        with named_as_arguments():
            return self._calls().delete(_texts(keys, "keys"), _texts(dead_ids, "dead_ids"))

    def pause(self) -> None:
        """Pause the queue: it takes adds and acks, and within a second no job of it is claimed."""
        self._calls().pause()

    def resume(self) -> None:
        """Resume the queue after a pause."""
        self._calls().resume()

    def remove(self, *, force: bool = False) -> None:
        """Request the removal of the queue. Raises Conflict for one with live jobs unless *force*."""
        self._calls().remove(flag(force, "force"))

    def take(self, most: int = 1, wait: Seconds | None = None, parts: Sequence[int] | None = None) -> Jobs:
        """Return a scope of 1 to *most* jobs; of none after a *wait* without any, in seconds or as a
        timedelta (None: no limit).

        *parts*: the parts to look in, by default those of this session. A paused queue has no job to take.
        Entering the scope raises SessionLost once if this process has lost its session since its last take.
        """
        return Jobs(self._working().take(most, wait, parts))

    def _stream(self, wait: float | None) -> Iterator[Job]:
        self._working()
        return super()._stream(wait)

    @block
    def bounded(self, seconds: Seconds) -> Iterator[Queue]:
        """Yield the queue with a session of *seconds* and no heartbeat, as a Lambda function needs it."""
        with self._working().bounded(seconds) as worker:
            yield Queue(self.name, self._calls, worker, self._again)

    @block
    def answer(self, event: Mapping[str, Any], context: Any) -> Iterator[Jobs]:
        """Yield the jobs of one invocation of a Lambda function whose event source is this queue's doorbell.

        *event*, *context*: the arguments of the invocation; its session ends with its time. At most one job
        is taken for each ring, in the part that it names. Leaving the block is as with ``take``; an exception
        is raised again, so that SQS delivers the rings again. A queue that is removed has no jobs: its last
        rings are used up. Raises InvalidRequest if a message is not a ring of this queue.
        """
        with self._working().answer(event, context) as scope:
            yield Jobs(scope)

    def close(self) -> None:
        """Take no more jobs, return the claimed ones without counting failures, and end the session."""
        if self._worker is not None:
            self._worker.close()

    def sweep(self) -> None:
        """Run the scheduled sweep: raise parts, end overdue sessions, free, promote, ring, report the outbox.

        Where it finds nothing repeatedly, the queue falls asleep, until a job is added.
        """
        self._working().sweep()

    def separate(self, doorbell: Callable[[Doorbell], Doorbell]) -> Queue:
        """Return the queue with a session of its own, whose waiting goes through *doorbell*."""
        worker = self._worker
        own = None if worker is None else worker.separate(doorbell)
        return Queue(self.name, self._calls, own, self._again)

    def _working(self) -> rows.Queue:
        if self._worker is None:
            raise InvalidRequest(NO_WORKER.format(self.name))
        return self._worker


def _texts(texts: Iterable[str], name: str) -> list[str]:
    return listed(texts, name, lambda each: text(each, f"one of {name}", name))
