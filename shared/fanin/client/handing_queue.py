"""A work queue in a consumer's function: the jobs that it adds become the owners of their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fanin.client.handing import job_id, made, making
from fanin.queue import NewJob, OnBusy, Queue, Rejected


@dataclass
class HandingQueue(Queue):
    """A queue whose jobs become the owners of their items, where those are under work in this process.

    A repeated call of the function adds the same job, because its id is derived from the item.
    """

    def add_all(self, jobs: Iterable[str | NewJob], *, on_busy: str = OnBusy.REJECT) -> tuple[Rejected, ...]:
        asked = [_named(job if isinstance(job, NewJob) else NewJob(job)) for job in jobs]
        with making(*(job.item_id for job in asked)):
            rejected = super().add_all(asked, on_busy=on_busy)
        made(*_added(asked, rejected))
        return rejected


def _named(job: NewJob) -> NewJob:
    if job.item_id is None or job.id is not None:
        return job
    return replace(job, id=job_id(job.item_id, job.key))


def _added(asked: Sequence[NewJob], rejected: Sequence[Rejected]) -> list[str]:
    """Return the items of the jobs that were added: of several with one key it can be the first one only."""
    refused = Counter(each.key for each in rejected)
    times = Counter(job.key for job in asked)
    first = {job.key: job.item_id for job in reversed(asked)}
    return [item for key, item in first.items() if item is not None and refused[key] < times[key]]
