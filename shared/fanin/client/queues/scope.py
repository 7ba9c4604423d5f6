"""The scope of a take, with its jobs as the client shows them."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from fanin import queue as rows
from fanin.arguments import Seconds, instance
from fanin.client.queues.queue_model import Job, job_of
from fanin.errors import InvalidRequest
from fanin.queue.interface import TakenJobs
from fanin.queue.store import Write


class Jobs(TakenJobs[Job]):
    """The jobs of one take, in the order of the queue.

    Leaving the block acks the remaining ones. An Exception returns them to their old position and counts a
    failure of each; an interruption (any other BaseException) returns them and counts none. ``Failed`` ends
    the last remaining one as dead, and is not raised again; of several it does not say which one failed, so
    that it is an Exception like any other: use ``fail``. The jobs belong to the process that took them: a
    forked child can neither ack nor return them, and leaves its copy of the block without a request.
    """

    def __init__(self, scope: rows.Jobs) -> None:
        self._scope = scope
        self._show()

    def __enter__(self) -> Self:
        self._scope.__enter__()
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._scope.__exit__(kind, error, trace)

    @property
    def lost(self) -> bool:
        """Whether the session is over: its jobs run elsewhere, and cannot be acked here."""
        return self._scope.lost

    def ack(self, job: Job, writes: Sequence[Write] = (), *, result: object = None) -> Job:
        """End *job* in one transaction with *writes* (entries of TransactWriteItems, 98 at most); return it.

        *result*: that of its item, a value of JSON of at most 64 KB, if the item's batch keeps results.
        Raises LostClaim, where none of the writes happened; StaleWrite, where a condition among them failed
        and the claim holds; StoreUnavailable, where the outcome is unknown and the ack may be repeated.
        """
        ended = self._scope.ack(self._row(job), writes, result=result)
        return job_of(ended, ended.done_us or ended.added_us)

    def release(
        self, job: Job, *, failed: bool = False, delay: Seconds | None = None, error: str = ""
    ) -> None:
        """Return *job* to its position, to be queued after *delay* seconds; *failed* counts a failure."""
        self._scope.release(self._row(job), failed=failed, delay=delay, error=error)

    def fail(self, job: Job, reason: str) -> None:
        """End *job* as dead, which fails its item, too. Raises LostClaim and StoreUnavailable as ack does."""
        self._scope.fail(self._row(job), reason)

    def _show(self) -> None:
        self._rows: dict[str | None, rows.Job] = {row.claim: row for row in self._scope if row.claim}
        self._jobs = [job_of(row, row.claimed_us or row.ready_us) for row in self._scope]

    def _row(self, job: Job) -> rows.Job:
        row = self._rows.get(instance(job, Job, "a job", "job").claim)
        if row is None:
            raise InvalidRequest(f"job {job.key!r} is not, or no longer, one of this scope's", field="job")
        return row
