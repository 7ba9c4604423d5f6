"""The JSON of the routes that administer work queues, as values."""

from __future__ import annotations

from fanin.client.http_bodies.codec import Document, reader, value_of
from fanin.client.queues.queue_model import (
    DeletedJobs,
    Job,
    QueuePage,
    QueueSession,
    QueueStatus,
    RejectedJob,
    RevivedJobs,
)
from fanin.queue import NewJob


def job_body(job: NewJob) -> Document:
    """Return a job to add as the request has it."""
    facts = {"key": job.key, "payload": job.payload, "itemId": job.item_id, "jobId": job.id}
    body = {name: value for name, value in facts.items() if value is not None}
    return body | {"priority": job.priority, "delaySeconds": job.delay}


def rejected_of(answer: Document) -> tuple[RejectedJob, ...]:
    return tuple(map(reader(RejectedJob), answer["rejected"]))


def status_of(answer: Document) -> QueueStatus:
    return value_of(QueueStatus, {**answer, **answer["depth"]}, name=answer["queue"])


def page_of_queues(answer: Document) -> QueuePage:
    return QueuePage(tuple(map(status_of, answer["queues"])), answer.get("cursor"))


def page_of_sessions(answer: Document) -> QueuePage:
    return QueuePage(tuple(map(reader(QueueSession), answer["sessions"])), answer.get("cursor"))


def page_of_jobs(answer: Document) -> QueuePage:
    return QueuePage(tuple(map(reader(Job), answer["jobs"])), answer.get("cursor"))


def revived_of(answer: Document) -> RevivedJobs:
    not_revived = {each["deadId"]: each["reason"] for each in answer["notRevived"]}
    return RevivedJobs(answer["revived"], not_revived, answer.get("cursor"))


def deleted_jobs_of(answer: Document) -> DeletedJobs:
    jobs = {each["key"]: each["outcome"] for each in answer["jobs"]}
    return DeletedJobs(jobs, {each["deadId"]: each["outcome"] for each in answer["dead"]})


def paused_of(answer: Document) -> bool:
    return bool(answer["paused"])


def removing_of(answer: Document) -> str:
    return str(answer["state"])
