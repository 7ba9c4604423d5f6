"""The JSON of the group-batcher's part of the HTTP contract: request bodies and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

from fanin.client.http_bodies.codec import Document, reader
from fanin.client.http_bodies.documents import problem_error
from fanin.client.model import Rows
from fanin.client.task_model import (
    BundleSummary,
    ListedTask,
    NewTask,
    Registered,
    TargetSummary,
    TaskResult,
    TaskStatus,
)
from fanin.names import camel

R = TypeVar("R")
registered_of, task_of = reader(Registered), reader(TaskStatus)


def task_body(task: NewTask) -> Document:
    """Return the body of a task, without the options that have their defaults."""
    given = {camel(fact.name): getattr(task, fact.name) for fact in fields(task)}
    return {name: value for name, value in given.items() if name == "payload" or value not in (None, 0)}


def tasks_body(tasks: Sequence[NewTask]) -> Document:
    """Return the body of several tasks."""
    return {"tasks": [task_body(task) for task in tasks]}


def results_of(answer: Document) -> tuple[TaskResult, ...]:
    return tuple(_result(one) for one in answer["results"])


def tasks_of(answer: Document) -> Rows[ListedTask]:
    return _rows(answer, "tasks", ListedTask)


def bundles_of(answer: Document) -> Rows[BundleSummary]:
    return _rows(answer, "bundles", BundleSummary)


def targets_of(answer: Document) -> Rows[TargetSummary]:
    return _rows(answer, "targets", TargetSummary)


def _rows(answer: Document, name: str, kind: type[R]) -> Rows[R]:
    return Rows(tuple(map(reader(kind), answer[name])), answer.get("cursor"))


def _result(answer: Document) -> TaskResult:
    problem = answer.get("problem")
    error = None if problem is None else problem_error(problem["status"], problem)
    return TaskResult(answer.get("taskId"), answer.get("state"), error)
