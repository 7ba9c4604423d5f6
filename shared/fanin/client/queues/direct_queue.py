"""The calls about one work queue, on its table: by a direct client, and by a fake one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fanin import queue as rows
from fanin.client.http_bodies.paging import pages
from fanin.client.model import QueueDescription
from fanin.client.queues.queue_model import (
    DeletedJobs,
    Job,
    QueuePage,
    QueueSession,
    QueueStatus,
    RejectedJob,
    RevivedJobs,
    dead_job_of,
    job_of,
    session_of,
    status_of,
)
from fanin.errors import NotFound
from fanin.queue import NewJob, OnBusy, QueueContext
from fanin.queue.administration import changing, describing, paging, removing
from fanin.queue.rules.row_texts import dead_id_of, record_of
from fanin.types import ListedStateText

JOBS_A_PAGE = 100
STATES = {state.shown: state for state in paging.PREFIXES}


@dataclass(frozen=True, slots=True)
class DirectQueue:
    """The calls about *queue*; *create* creates it, with parts and metrics."""

    queue: rows.Queue
    create: Callable[[int | None, bool | None], QueueDescription]

    def add_all(self, jobs: Sequence[NewJob], on_busy: OnBusy) -> tuple[RejectedJob, ...]:
        rejected: Any = ((each.key, each.state.shown) for each in self.queue.add_all(jobs, on_busy=on_busy))
        return tuple(RejectedJob(key=key, state=state) for key, state in rejected)

    def ensure(self, parts: int | None, metrics: bool | None) -> QueueDescription:
        return self.create(parts, metrics)

    def status(self) -> QueueStatus:
        return status_of(describing.status_of(self.queue.context))

    def sessions(self) -> Iterator[QueueSession]:
        return iter(sorted(map(session_of, self.queue.sessions()), key=lambda each: each.id))

    def jobs(self, state: ListedStateText) -> Iterator[Job]:
        context = self._existing()

        def page(after: paging.ListedRow | None) -> QueuePage:
            if state == "dead":
                dead = paging.dead(context, JOBS_A_PAGE, after)
                return QueuePage(tuple(dead_job_of(each) for _, each in dead.jobs), dead.last)
            found = paging.jobs(context, STATES[state], JOBS_A_PAGE, after)
            now = context.effects.now()
            return QueuePage(tuple(job_of(row, now) for _, row in found.jobs), found.last)

        return (job for each in pages(page) for job in each.rows)

    def revive(self, dead_ids: Sequence[str]) -> RevivedJobs:
        self._existing()
        return _revived(changing.revive_some(self.queue, list(map(record_of, dead_ids))))

    def revive_all(self) -> RevivedJobs:
        self._existing()
        found = changing.revive_all(self.queue)
        revived = _revived(found)
        while found.last is not None:
            found = changing.revive_all(self.queue, found.last)
            revived += _revived(found)
        return revived

    def delete(self, keys: Sequence[str], dead_ids: Sequence[str]) -> DeletedJobs:
        context = self._existing()
        jobs: Any = changing.delete_jobs(context, keys)
        dead: Any = changing.delete_dead(context, list(map(record_of, dead_ids)))
        return DeletedJobs(
            {key: each.value for key, each in jobs.items()},
            {dead_id_of(record): each.value for record, each in dead.items()},
        )

    def pause(self) -> None:
        changing.pause(self.queue.context)

    def resume(self) -> None:
        changing.resume(self.queue.context)

    def remove(self, force: bool) -> None:
        removing.begin(self.queue.context, force=force)

    def _existing(self) -> QueueContext:
        """Return the context of the queue. Raises NotFound where it does not exist."""
        context = self.queue.context
        if context.read_config() is None:
            raise NotFound(f"queue {context.key.name!r} does not exist")
        return context


def _revived(found: changing.RevivedJobs) -> RevivedJobs:
    outcomes: Any = {dead_id_of(record): each.value for record, each in found.outcomes.items()}
    not_revived = {dead_id: each for dead_id, each in outcomes.items() if each != changing.Revival.REVIVED}
    return RevivedJobs(len(outcomes) - len(not_revived), not_revived)
