"""The JSON of the routes that administer work queues, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from fanin.client.queues.queue_model import (
    DeletedJobs,
    QueueJob,
    QueuePage,
    QueueSession,
    QueueStatus,
    RevivedJobs,
)
from fanin.names import camel

Document = Mapping[str, Any]
T = TypeVar("T")


def status_of(answer: Document) -> QueueStatus:
    depth = answer["depth"]
    return QueueStatus(
        name=answer["queue"],
        parts=answer["parts"],
        paused=answer["paused"],
        metrics=answer["metrics"],
        activity=answer["activity"],
        queued=depth["queued"],
        in_progress=depth["inProgress"],
        delayed=depth["delayed"],
        dead=depth["dead"],
        accuracy=depth["accuracy"],
        oldest_seconds=answer["oldestSeconds"],
        doorbell_url=answer.get("doorbellUrl"),
        counted_at=datetime.fromisoformat(answer["countedAt"]) if "countedAt" in answer else None,
    )


def page_of_queues(answer: Document) -> QueuePage:
    return QueuePage(tuple(status_of(each) for each in answer["queues"]), answer.get("cursor"))


def page_of_sessions(answer: Document) -> QueuePage:
    found = tuple(_made(QueueSession, each) for each in answer["sessions"])
    return QueuePage(found, answer.get("cursor"))


def page_of_jobs(answer: Document) -> QueuePage:
    return QueuePage(tuple(_made(QueueJob, each) for each in answer["jobs"]), answer.get("cursor"))


def revived_of(answer: Document) -> RevivedJobs:
    left = {each["deadId"]: each["reason"] for each in answer["notRevived"]}
    return RevivedJobs(answer["revived"], left, answer.get("cursor"))


def deleted_of(answer: Document) -> DeletedJobs:
    jobs = {each["key"]: each["outcome"] for each in answer["jobs"]}
    return DeletedJobs(jobs, {each["deadId"]: each["outcome"] for each in answer["dead"]})


def paused_of(answer: Document) -> bool:
    paused: bool = answer["paused"]
    return paused


def removing_of(answer: Document) -> str:
    return str(answer["state"])


def _made(kind: Callable[..., T], answer: Document) -> T:
    """Return the value of *kind*, a dataclass, whose fields *answer* has; names with ``_at`` are times."""
    facts: dict[str, Any] = {}
    for fact in fields(kind):  # type: ignore[arg-type]
        value = answer.get(camel(fact.name))
        if value is not None:
            facts[fact.name] = datetime.fromisoformat(value) if fact.name.endswith("_at") else value
    return kind(**facts)
