"""Telling the initiators of tasks how they ended: the port, and its two parts, events and acks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanin.grouper.model import Task, TaskState


class Notifier(Protocol):
    """Hears of every task that ended, at least once, before its bundle is over."""

    def notify(self, tasks: Sequence[Task]) -> None:
        """*tasks* have ended. Raises StoreUnavailable where it is unknown whether all were told."""


@dataclass(frozen=True, slots=True)
class ItemAck:
    """The word on an item of a tracked batch. *caller* is the same each time the same outcome is told."""

    tenant: str
    item_id: str
    failed: bool
    reason: str
    caller: str


@dataclass(frozen=True, slots=True)
class Notices:
    """Publishes an event for each task that failed, and acks the item of each task that has one."""

    publish: Callable[[Sequence[Task]], None]
    ack: Callable[[Sequence[ItemAck]], None]

    def notify(self, tasks: Sequence[Task]) -> None:
        acks = [item_ack(task) for task in tasks if task.item_id]
        if acks:
            self.ack(acks)
        failed = [task for task in tasks if task.state is not TaskState.SUCCEEDED]
        if failed:
            self.publish(failed)


def item_ack(task: Task) -> ItemAck:
    """The ack that an ended task owes to its item."""
    failed = task.state is not TaskState.SUCCEEDED
    return ItemAck(task.tenant, task.item_id or "", failed, task.detail if failed else "", event_id(task))


def event_id(task: Task) -> str:
    """The same for every time this ending is told, and for no other."""
    return f"{task.task_id}:{task.state}"
