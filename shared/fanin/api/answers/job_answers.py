"""The responses of the work queues' routes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Literal, Self

from fanin.api.answers.batch_answers import Answer, Instant, Optional
from fanin.api.cursors import queue_cursors
from fanin.instants import instant
from fanin.queue import Dead, Job, JobState, NewJob, QueueKey, Rejected
from fanin.queue.administration.creating import Ensured
from fanin.queue.administration.paging import JobPage
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.lifecycle import worked
from fanin.queue.rules.model import SECOND_US, payload_of
from fanin.queue.rules.row_texts import dead_id_of

ANSWER_BYTES = 6_000_000
"""The limit of a response of Lambda is 6 MB."""


class Listed(StrEnum):
    """The states of jobs in requests and responses."""

    QUEUED = "queued"
    IN_PROGRESS = "inProgress"
    DELAYED = "delayed"
    DEAD = "dead"


class QueueFacts(Answer):
    """The config of a work queue.

    While *parts* are raised: *target*: to which number; *phase*: `preparing`, `draining`, `expiring`;
    *since*: when the phase was first seen by a sweep. Otherwise the phase is `steady`.
    """

    queue: str
    parts: int
    paused: bool
    metrics: bool
    target: int | None = Optional
    phase: Phase
    since: Instant | None = Optional

    @classmethod
    def of_config(cls, queue: str, config: QueueConfig, **more: Any) -> Self:
        return cls(
            queue=queue,
            paused=config.paused,
            metrics=config.metrics,
            parts=config.before or config.parts,
            target=config.parts if config.before else None,
            phase=config.phase,
            since=None if config.since_us is None else instant(config.since_us),
            **more,
        )


class QueueAnswer(QueueFacts):
    """A work queue; its doorbell is an SQS queue, which can be the event source of a Lambda function."""

    doorbell_url: str
    doorbell_arn: str

    @classmethod
    def of(cls, queue: QueueKey, found: Ensured) -> Self:
        url, arn = found.config.doorbell or "", found.doorbell_arn
        return cls.of_config(queue.name, found.config, doorbell_url=url, doorbell_arn=arn)


class RejectedJob(Answer):
    """A rejected job; *state*: that of the live job of its key."""

    key: str
    state: Listed


class AddedJobs(Answer):
    """The keys of the added jobs, and the rejected jobs."""

    added: list[str]
    rejected: list[RejectedJob]

    @classmethod
    def of(cls, jobs: Sequence[NewJob], rejected: Sequence[Rejected]) -> Self:
        """Return the response to an add of *jobs*; of a repeated key, all but the first are rejected."""
        asked, refusals = Counter(job.key for job in jobs), Counter(each.key for each in rejected)
        refused = [RejectedJob(key=each.key, state=Listed(each.state.shown)) for each in rejected]
        return cls(added=[key for key in asked if asked[key] > refusals[key]], rejected=refused)


class RemovedQueue(Answer):
    """A queue that is being removed."""

    queue: str
    state: Literal["REMOVING"]


class JobAnswer(Answer):
    """A job with its metrics.

    *collisions*: adds that it rejected. *deliveries*: how often it was taken. *dueAt*: of a delayed job.
    *error*, *diedAt*, *deadId*: of a dead job; the last one names it in requests.
    """

    key: str
    job_id: str
    state: Listed
    priority: int
    payload: Any = Optional
    item_id: str | None = Optional
    added_at: Instant
    due_at: Instant | None = Optional
    queued_seconds: float
    in_progress_seconds: float
    deliveries: int
    failures: int
    collisions: int
    error: str | None = Optional
    died_at: Instant | None = Optional
    dead_id: str | None = Optional

    @classmethod
    def of(cls, job: Job, now: int, dead: Dead | None = None, dead_id: str | None = None) -> Self:
        """Return the job as a response shows it; *now*: microseconds since 1970."""
        alive = dead is None
        waits = worked(job.ready_us, now) if alive and job.state is JobState.READY else 0
        works = worked(job.claimed_us, now) if alive and job.state is JobState.BUSY else 0
        delayed = alive and job.state is JobState.DELAYED
        return cls(
            key=job.name,
            job_id=job.id,
            state=Listed(job.state.shown) if alive else Listed.DEAD,
            priority=job.priority,
            payload=payload_of(job.payload),
            item_id=job.item_id,
            added_at=instant(job.added_us),
            due_at=instant(job.ready_us) if delayed else None,
            queued_seconds=(job.queued_us + waits) / SECOND_US,
            in_progress_seconds=(job.busy_us + works) / SECOND_US,
            deliveries=job.deliveries,
            failures=job.failures,
            collisions=job.collisions,
            error=dead.error if dead else None,
            died_at=instant(dead.died_us) if dead else None,
            dead_id=dead_id,
        )


class ListedJobs(Answer):
    """Jobs in one state, in the order of the queue, and the cursor of the next page."""

    jobs: list[JobAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, page: JobPage[Job], now: int) -> Self:
        return cls._of(page, [JobAnswer.of(job, now) for _, job in page.jobs])

    @classmethod
    def of_dead(cls, page: JobPage[Dead], now: int) -> Self:
        ids = [dead_id_of((row.number, row.key.sort)) for row, _ in page.jobs]
        dead = zip(ids, page.jobs, strict=True)
        return cls._of(page, [JobAnswer.of(each.job, now, each, dead_id) for dead_id, (_, each) in dead])

    @classmethod
    def _of(cls, page: JobPage[Any], jobs: Sequence[JobAnswer]) -> Self:
        """Return the first of *jobs*, as many as fit; the next page begins after the last one of them."""
        listed = _fitting(jobs)
        last = page.last if len(listed) == len(jobs) else page.jobs[len(listed) - 1][0]
        return cls(jobs=listed, cursor=queue_cursors.of_row(last))


def _fitting(jobs: Iterable[JobAnswer]) -> list[JobAnswer]:
    """Return the first of *jobs*, as many as fit into a response, which Lambda encodes as text in JSON."""
    listed: list[JobAnswer] = []
    size = 0
    for job in jobs:
        size += len(json.dumps(job.model_dump_json(by_alias=True)))
        if size > ANSWER_BYTES:
            break
        listed.append(job)
    return listed
