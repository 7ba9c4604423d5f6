"""A work queue of the client: its jobs become the owners of their items, and end them as workers report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, TypeVar

from fanin.client.handing_over.handing import creating_owner, job_id, owner_created
from fanin.client.handing_over.under_work import UnderWork, held, let_go
from fanin.client.queues.job_acks import ItemResults
from fanin.queue import Job, Jobs, NewJob, OnBusy, Queue, Rejected
from fanin.queue.rules.taking import TakeRequest, new_jobs
from fanin.queue.sessions.taker import Taker
from fanin.tracker import Outcome

REPORTED = "the worker of the job failed it"


class _Refusal(Protocol):
    """A rejected add."""

    @property
    def key(self) -> str: ...


R = TypeVar("R", bound=_Refusal)


@dataclass
class HandingQueue(Queue):
    """A queue whose jobs become the owners of their items. *results*: checks the results of those items."""

    results: ItemResults | None = None

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        add = super().add_all
        return handing(new_jobs(jobs), lambda asked: add(asked, on_busy=on_busy))

    def _scope(self, request: TakeRequest) -> Jobs:
        return HandingJobs(self.taker, request, self.results)


class HandingJobs(Jobs):
    """The jobs of one take; the end of a job fails its item if its worker reported the failure."""

    _held: Mapping[str | None, UnderWork] = {}

    def __init__(self, taker: Taker, request: TakeRequest, results: ItemResults | None) -> None:
        super().__init__(taker, request)
        self._results = results

    def __enter__(self) -> Jobs:
        jobs = super().__enter__()
        self._held = {job.claim: held(job.item_id) for job in jobs if job.item_id is not None}
        return jobs

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return super().__exit__(kind, error, trace)
        finally:
            for work in self._held.values():
                let_go(work)

    def _as_reported(self, job: Job, result: object) -> Job:
        work = self._held.get(job.claim)
        report = work.report if work is not None else None
        if report is not None and report.outcome is Outcome.FAILURE:
            return replace(job, item_failure=report.reason or REPORTED)
        if self._results is None:
            return super()._as_reported(job, result)
        return replace(job, item_result=self._results.checked(job.item_id, result))


def handing(jobs: Iterable[NewJob], add: Callable[[Sequence[NewJob]], tuple[R, ...]]) -> tuple[R, ...]:
    """Add *jobs*, which own their items from then on, where those are under work in this process.

    A repeated call of the function adds the same job, because its id is derived from the item.
    """
    asked = [_named(job) for job in jobs]
    with creating_owner(*(job.item_id for job in asked)):
        rejected = add(asked)
        owner_created(*_added(asked, rejected))
    return rejected


def _named(job: NewJob) -> NewJob:
    if job.item_id is None or job.id is not None:
        return job
    return replace(job, id=job_id(job.item_id, job.key))


def _added(asked: Sequence[NewJob], rejected: Sequence[_Refusal]) -> list[str]:
    """Return the items of the jobs that were added: of several with one key it can be the first one only."""
    refused = Counter(each.key for each in rejected)
    times = Counter(job.key for job in asked)
    first = {job.key: job.item_id for job in reversed(asked)}
    return [item for key, item in first.items() if item is not None and refused[key] < times[key]]
