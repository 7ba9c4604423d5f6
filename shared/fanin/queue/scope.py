"""The scope of a take: what was claimed in it is acked or returned when it is left, by whatever way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import overload

from fanin.aws.forking import PerProcess
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.queue.errors import LostClaim, ShutDown
from fanin.queue.model import Job, checked_delay
from fanin.queue.store import MOST_WRITES, Write
from fanin.queue.worker import Worker

Take = Callable[[], tuple[Worker, list[Job]]]
# These say nothing of the job: it ran into the weather, or it was taken from us.
NO_FAILURE = (LostClaim, ShutDown, StoreUnavailable)


class Jobs(Sequence[Job]):
    """The jobs of one take, in the order of the queue.

    Leaving the block acks those that are left. An Exception returns them to their old place and counts a
    failure of each; an interruption (any other BaseException) returns them and counts nothing. *retry_delay*:
    seconds that a failed job waits. The jobs are the taking process's: a forked child can neither ack nor
    return them, and leaves its copy of the block without a request.
    """

    def __init__(self, take: Take, ended: Callable[[Job], None], retry_delay: float) -> None:
        self._take = take
        self._ended = ended
        self._retry_delay = retry_delay
        self._worker: Worker | None = None
        self._jobs: list[Job] = []
        self._open = PerProcess[dict[str, Job]](dict)

    def __enter__(self) -> Jobs:
        self._worker, self._jobs = self._take()
        self._open().update({job.claim: job for job in self._jobs if job.claim})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._return_all(error)
            return
        try:
            self._ack_all()
        except BaseException as late:
            self._return_all(late)
            raise

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def lost(self) -> bool:
        """Whether this worker was given up: its jobs run elsewhere, so work on them is in vain."""
        return self._worker is not None and not self._worker.session.alive()

    def ack(self, job: Job, writes: Sequence[Write] = ()) -> Job:
        """End *job* now, together with *writes* (entries of TransactWriteItems, 98 at most) or not at all.

        Raises LostClaim, where none of the writes happened; StaleWrite, where a condition among them failed
        and the job is still ours; StoreUnavailable, where the outcome is unknown and the ack may be repeated.
        """
        if len(writes) > MOST_WRITES:
            raise InvalidRequest(f"one ack takes {MOST_WRITES} writes at most", field="writes")
        worker = self._holder(job)
        try:
            done = worker.claims.end(job, writes)
        except LostClaim:
            self._open().pop(job.claim or "")
            raise
        self._open().pop(job.claim or "")
        self._ended(job)
        return done

    def release(self, job: Job, *, failed: bool = False, delay: float | None = None, error: str = "") -> None:
        """Return *job* to its place now, after *delay* seconds, with a failure counted or not."""
        worker = self._holder(job)
        wait = checked_delay(delay) if delay is not None else self._retry_delay * failed
        self._open().pop(job.claim or "")
        worker.claims.give_back(job, failed=failed, delay=wait, error=error)

    def _holder(self, job: Job) -> Worker:
        if self._worker is None or (job.claim or "") not in self._open():
            raise InvalidRequest(f"job {job.name!r} is not, or no longer, one of this scope's")
        return self._worker

    def _ack_all(self) -> None:
        """Ack what is left, all of it, before the first trouble is told."""
        trouble: Exception | None = None
        for job in list(self._open().values()):
            try:
                self.ack(job)
            except (LostClaim, StoreUnavailable) as error:
                trouble = trouble or error
        if trouble is not None:
            raise trouble

    def _return_all(self, error: BaseException) -> None:
        failed = isinstance(error, Exception) and not isinstance(error, NO_FAILURE)
        try:
            for job in list(self._open().values()):
                self.release(job, failed=failed, error=_words(error))
        finally:  # where that was interrupted, too, the sweep frees the others
            for job in self._open().values():
                self._holder(job).claims.abandon(job)
            self._open().clear()


def _words(error: BaseException) -> str:
    """What an error says of itself, where it can."""
    try:
        return repr(error)
    except Exception:  # an error of the user's own kind, which may lack what its words are made of
        return type(error).__name__
