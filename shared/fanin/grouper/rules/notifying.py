"""Reports how tasks ended: the port, and its implementation by events and acks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fanin.grouper.rules.model import Bundle, Task, TaskState

OnFailed = Callable[[Bundle], None]
"""Called with each bundle that FAILED, at least once and before it is stored so. Raises StoreUnavailable."""


class Notifier(Protocol):
    """Is notified of each task that ended, at least once and before its bundle ends."""

    def notify(self, tasks: Sequence[Task]) -> None:
        """Report that *tasks* have ended; raise StoreUnavailable if some may not have been reported."""

    def keep(self, results: Sequence[tuple[Task, str]]) -> None:
        """Keep the results of tasks with items, before their success is stored; raise StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class ItemAck:
    """An ack entry for an item of a tracked batch. *caller* is the same each time the outcome is reported.

    *result*: of an entry to keep before its ack.
    """

    tenant: str
    item_id: str
    failed: bool
    reason: str
    caller: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeNotifier:
    """Acks the item of each task that has one, and publishes an event for each task that failed.

    *publish* takes the failed tasks, and those that succeeded if *succeeded* is true; *ack* the ack entries;
    *keep_results* those with results. All raise StoreUnavailable.
    """

    publish: Callable[[Sequence[Task]], None]
    ack: Callable[[Sequence[ItemAck]], None]
    succeeded: bool = False
    keep_results: Callable[[Sequence[ItemAck]], None] | None = None

    def keep(self, results: Sequence[tuple[Task, str]]) -> None:
        """Keep the results of items; see Notifier.keep."""
        if self.keep_results is not None:
            succeeded = [(replace(task, state=TaskState.SUCCEEDED), result) for task, result in results]
            self.keep_results([replace(item_ack(task), result=result) for task, result in succeeded])

    def notify(self, tasks: Sequence[Task]) -> None:
        """Ack first, then publish; see Notifier.notify."""
        acks = [item_ack(task) for task in tasks if task.item_id]
        if acks:
            self.ack(acks)
        wanted = [task for task in tasks if self.succeeded or task.state is not TaskState.SUCCEEDED]
        if wanted:
            self.publish(wanted)


def item_ack(task: Task) -> ItemAck:
    """Return the ack entry of an ended task's item."""
    failed = task.state is not TaskState.SUCCEEDED
    return ItemAck(task.tenant, task.item_id or "", failed, task.detail if failed else "", event_id(task))


def event_id(task: Task) -> str:
    """Return the caller of the ack of a task's item: the same each time the ending is reported."""
    return f"{task.task_id}:{task.state}"
