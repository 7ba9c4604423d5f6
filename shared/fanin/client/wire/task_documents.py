"""The JSON of the group-batcher's part of the HTTP contract: request bodies and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from fanin.client.model import (
    BundleSummary,
    ListedTask,
    NewTask,
    Registered,
    Rows,
    TargetSummary,
    TaskResult,
    TaskStatus,
)
from fanin.client.wire.documents import problem_error

R = TypeVar("R")
Document = Mapping[str, Any]


def task_body(task: NewTask) -> Document:
    """Return the body of a task, without the options that have their defaults."""
    options = {
        "target": task.target,
        "taskId": task.task_id,
        "itemId": task.item_id,
        "priority": task.priority or None,
    }
    return {"payload": task.payload} | {name: value for name, value in options.items() if value is not None}


def tasks_body(tasks: Sequence[NewTask]) -> Document:
    """Return the body of several tasks."""
    return {"tasks": [task_body(task) for task in tasks]}


def registered_of(answer: Document) -> Registered:
    return Registered(answer["taskId"], answer["state"])


def results_of(answer: Document) -> tuple[TaskResult, ...]:
    return tuple(_result(one) for one in answer["results"])


def task_of(answer: Document) -> TaskStatus:
    return TaskStatus(
        task_id=answer["taskId"],
        target=answer["target"],
        state=answer["state"],
        priority=answer["priority"],
        attempts=answer["attempts"],
        created_at=datetime.fromisoformat(answer["createdAt"]),
        expires_at=datetime.fromisoformat(answer["expiresAt"]),
        bundle_id=answer.get("bundleId"),
        item_id=answer.get("itemId"),
        reason=answer.get("reason"),
    )


def tasks_of(answer: Document) -> Rows[ListedTask]:
    return _rows(answer, "tasks", _listed)


def bundles_of(answer: Document) -> Rows[BundleSummary]:
    return _rows(answer, "bundles", _bundle)


def targets_of(answer: Document) -> Rows[TargetSummary]:
    return _rows(answer, "targets", _target)


def _rows(answer: Document, name: str, read: Callable[[Document], R]) -> Rows[R]:
    return Rows(tuple(read(one) for one in answer[name]), answer.get("cursor"))


def _result(answer: Document) -> TaskResult:
    problem = answer.get("problem")
    error = None if problem is None else problem_error(problem["status"], problem)
    return TaskResult(answer.get("taskId"), answer.get("state"), error)


def _listed(answer: Document) -> ListedTask:
    due_at = datetime.fromisoformat(answer["dueAt"])
    return ListedTask(answer["taskId"], answer["state"], due_at, answer.get("bundleId"), answer.get("reason"))


def _bundle(answer: Document) -> BundleSummary:
    return BundleSummary(
        bundle_id=answer["bundleId"],
        target=answer["target"],
        state=answer["state"],
        size=answer["size"],
        attempt=answer["attempt"],
        created_at=datetime.fromisoformat(answer["createdAt"]),
    )


def _target(answer: Document) -> TargetSummary:
    return TargetSummary(
        target=answer["target"],
        pattern=answer.get("pattern"),
        shards=answer["shards"],
        waiting=answer["waiting"],
        waiting_more=answer["waitingMore"],
        in_flight=answer["inFlight"],
        next_window_at=_time(answer.get("nextWindowAt")),
        next_call_at=_time(answer.get("nextCallAt")),
        rate=answer.get("rate"),
        leaders=answer.get("leaders", 0),
        lease_until=_time(answer.get("leaseUntil")),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
