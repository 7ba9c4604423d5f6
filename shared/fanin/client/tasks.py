"""Tasks of the group-batcher: many registered at once, and the lists of tasks, bundles and targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from fanin.arguments import instance, text, text_or_none, whole
from fanin.client.argument_checks.checking import PRIORITY_MAX, json_value
from fanin.client.handing_over.handing import creating_owner, owner_created, tasks_key
from fanin.client.http_bodies.paging import pages
from fanin.client.task_model import BundleSummary, ListedTask, NewTask, TargetSummary, TaskResult
from fanin.errors import InvalidRequest
from fanin.item_ids import checked_item_id
from fanin.types import BundleStateText, TaskStateText

if TYPE_CHECKING:
    from fanin.client.transports.transport import Transport

TASKS_A_REQUEST = 100


class Tasks:
    """The tasks of a client's tenant. Over HTTP only."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def register(self, tasks: Sequence[NewTask], *, key: str | None = None) -> tuple[TaskResult, ...]:
        """Register each of *tasks* and return their results in their order, 100 tasks a request.

        A task that is refused does not keep the others from being registered: its result has the error. If a
        request fails, the error is raised; repeat the call with its *key* then.
        """
        if not isinstance(tasks, list | tuple):
            raise InvalidRequest("tasks is a list of NewTask", field="tasks")
        checked = [task_given(task) for task in tasks]
        key = tasks_key(checked, key)
        results: list[TaskResult] = []
        for first in range(0, len(checked), TASKS_A_REQUEST):
            part_key = key if first == 0 else str(uuid5(NAMESPACE_OID, f"{key}/{first}"))
            results += self._registered(checked[first : first + TASKS_A_REQUEST], part_key)
        return tuple(results)

    def _registered(self, tasks: Sequence[NewTask], key: str) -> tuple[TaskResult, ...]:
        """Register the tasks of one request; those that are stored become the owners of their items."""
        with creating_owner(*(task.item_id for task in tasks)):
            results = self._transport.register_all(tasks, key)
            for task, result in zip(tasks, results, strict=True):
                owner_created(task.item_id, error=result.error)
        return results

    def list(self, target: str, state: TaskStateText = "CREATED") -> Iterator[ListedTask]:
        """Yield the tasks of a target in a state, by default those that wait for a bundle."""
        ask = partial(
            self._transport.tasks, text(target, "a target", "target"), text(state, "a state", "state")
        )
        return (task for page in pages(ask) for task in page.rows)

    def bundles(self, target: str, state: BundleStateText | None = None) -> Iterator[BundleSummary]:
        """Yield the bundles of a target, of all states or of one, the newest of each shard first."""
        wanted = text_or_none(state, "a state", "state")
        ask = partial(self._transport.bundles, text(target, "a target", "target"), wanted)
        return (bundle for page in pages(ask) for bundle in page.rows)

    def targets(self) -> Iterator[TargetSummary]:
        """Yield the targets of the tenant by name, with what waits and is in flight."""
        return (target for page in pages(self._transport.targets) for target in page.rows)


def task_given(task: NewTask) -> NewTask:
    """Return *task* with checked fields. Raises InvalidRequest."""
    instance(task, NewTask, "a task")
    return replace(
        task,
        target=text_or_none(task.target, "a target", "target"),
        payload=json_value(task.payload),
        task_id=text_or_none(task.task_id, "a task id", "task_id"),
        priority=whole(task.priority, "priority", 0, PRIORITY_MAX),
        item_id=checked_item_id(task.item_id, "item_id"),
    )
