"""The scope of a take: when the block is left, each claimed job is acked or returned."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType

from fanin.arguments import Seconds, flag, instance, listed, seconds_of, text
from fanin.aws.forking import PerProcess
from fanin.errors import InvalidRequest, NewerSchema, StoreUnavailable
from fanin.queue.interface import TakenJobs
from fanin.queue.rules.errors import LostClaim, SessionLost, ShutDown
from fanin.queue.rules.model import SECONDS_MAX, Job
from fanin.queue.rules.taking import TakeRequest
from fanin.queue.sessions.taker import Taker
from fanin.queue.sessions.worker import Worker
from fanin.queue.store import MOST_WRITES, Write, checked_write
from fanin.user_functions import failed_for_good, own_text

logger = logging.getLogger("fanin")
_ONE_OF_SEVERAL = (
    "a failure for good does not say which of %d jobs failed, so all of them return: take one job at a time,"
    " or call jobs.fail(job, reason): %s"
)
# These count no failure: the job did not fail, its claim, the store or this release did.
NO_FAILURE = (LostClaim, SessionLost, ShutDown, NewerSchema, StoreUnavailable)


class Jobs(TakenJobs[Job]):
    """The jobs of one take, as rows of the table.

    Leaving the block acks the remaining ones. An Exception returns them and counts a failure of each, an
    interruption none. They belong to the process that took them: a forked child leaves its copy of the block
    without a request.
    """

    def __init__(self, taker: Taker, request: TakeRequest) -> None:
        self._taker = taker
        self._request = request
        self._worker: Worker | None = None
        self._jobs: list[Job] = []
        self._open = PerProcess[dict[str, Job]](dict)

    def __enter__(self) -> Jobs:
        self._worker, self._jobs = self._taker.take(self._request)
        self._open().update({job.claim: job for job in self._jobs if job.claim})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if error is not None:
            return self._failed_for_good(error) or self._return_all(error)
        try:
            self._ack_all()
        except BaseException as late:
            self._return_all(late)
            raise
        return False

    @property
    def lost(self) -> bool:
        """Whether the session is over: its jobs run elsewhere, and cannot be acked here."""
        return self._worker is not None and not self._worker.session.alive()

    def ack(self, job: Job, writes: Sequence[Write] = (), *, result: object = None) -> Job:
        """End *job* in one transaction with *writes* (entries of TransactWriteItems, 98 at most); return it.

        *result*: that of its item, a value of JSON of at most 64 KB, if the item's batch keeps results.
        Raises LostClaim, where none of the writes happened; StaleWrite, where a condition among them failed
        and the claim holds; StoreUnavailable, where the outcome is unknown and the ack may be repeated.
        """
        given = listed(writes, "writes", checked_write)
        if len(given) > MOST_WRITES:
            raise InvalidRequest(f"one ack takes {MOST_WRITES} writes at most", field="writes")
        worker = self._holder(job)
        job = self._as_reported(job, result)
        try:
            ended = worker.claims.end(job, given)
        except LostClaim:
            self._open().pop(job.claim or "")
            raise
        self._open().pop(job.claim or "")
        worker.claims.report_end(job)
        return ended

    def release(
        self, job: Job, *, failed: bool = False, delay: Seconds | None = None, error: str = ""
    ) -> None:
        """Return *job* to its position, to be ready after *delay* seconds; *failed* counts a failure."""
        worker = self._holder(job)
        flag(failed, "failed"), text(error, "error", "error")
        retry_delay = self._taker.context.options.retry_delay
        wait = retry_delay * failed if delay is None else seconds_of(delay, "delay", SECONDS_MAX)
        self._open().pop(job.claim or "")
        worker.claims.give_back(job, failed=failed, delay=wait, error=error)

    def fail(self, job: Job, reason: str) -> None:
        """End *job* as dead, which fails its item, too. Raises LostClaim and StoreUnavailable as ack does."""
        worker = self._holder(job)
        text(reason, "a reason", "reason")
        try:
            dead = worker.claims.fail(job, reason)
        except LostClaim:
            self._open().pop(job.claim or "")
            raise
        self._open().pop(job.claim or "")
        logger.warning("job %s is failed for good by its worker: %s", job.id, reason)
        worker.claims.report_end(job, dead)

    def _as_reported(self, job: Job, result: object) -> Job:
        """Return *job* as it ends; with ``item_failure``, if its worker failed its item, or its *result*."""
        if result is not None:
            raise InvalidRequest("this queue acks no items: take the job from a queue of a client")
        return job

    def _holder(self, job: Job) -> Worker:
        if self._worker is None or (instance(job, Job, "a job", "job").claim or "") not in self._open():
            raise InvalidRequest(f"job {job.name!r} is not, or no longer, one of this scope's")
        return self._worker

    def _ack_all(self) -> None:
        """Ack all remaining jobs, then raise the first error."""
        first: Exception | None = None
        for job in list(self._open().values()):
            try:
                self.ack(job)
            except (LostClaim, StoreUnavailable) as error:
                first = first or error
        if first is not None:
            raise first

    def _failed_for_good(self, error: BaseException) -> bool:
        """End the only remaining job as dead if *error* fails it for good; return whether it did."""
        failed, jobs = failed_for_good(error), list(self._open().values())
        if failed is None or len(jobs) != 1:
            if failed is not None and jobs:
                logger.warning(_ONE_OF_SEVERAL, len(jobs), own_text(failed))
            return False
        try:
            self.fail(jobs[0], own_text(failed))
        except BaseException as late:
            self._return_all(late)
            raise
        return True

    def _return_all(self, error: BaseException) -> bool:
        """Return the remaining jobs; return False, because *error* is raised again."""
        failed = isinstance(error, Exception) and not isinstance(error, NO_FAILURE)
        try:
            for job in list(self._open().values()):
                self.release(job, failed=failed, error=_text_of(error))
        finally:  # if this is interrupted too, the sweep frees the others
            for job in self._open().values():
                self._holder(job).claims.abandon(job)
            self._open().clear()
        return False


def _text_of(error: BaseException) -> str:
    """Return the repr of an error, or its kind where that fails."""
    try:
        return repr(error)
    except Exception:  # an error of the user's own kind, whose repr can fail
        return type(error).__name__
