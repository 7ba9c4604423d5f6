"""Registers tasks for packages of some sections; the section is the task's target."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from fanin.errors import FaninError, StoreUnavailable
from fanin.grouper import NewTask
from functions.demo.index import Entry

_TASKS = UUID("3d0f6f5e-7f43-5d55-9f57-0f8a5cf1a5c2")
logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Bundling:
    """Registers tasks for the packages of *sections*, each of which is a target."""

    register_all: Callable[[Sequence[NewTask]], Sequence[object]]
    sections: frozenset[str]

    def takes(self, entry: Entry) -> bool:
        """Return whether the end of a task acks the package's item, not the worker."""
        return entry.package.section in self.sections

    def hand_over(self, entries: Sequence[Entry]) -> list[bool]:
        """Register the packages' tasks; return for each if it is stored. Messages of others are retried."""
        return [_is_registered(result) for result in self.register_all([task_of(entry) for entry in entries])]


def _is_registered(result: object) -> bool:
    if isinstance(result, StoreUnavailable):
        logger.warning("a task may not be registered; its message is retried: %s", result)
        return False
    if isinstance(result, FaninError):
        raise result
    return True


def task_of(entry: Entry) -> NewTask:
    """Return the task of a package, equal for every delivery of the same item."""
    return NewTask(
        payload={"package": entry.key, "size": entry.package.size},
        target=entry.package.section,
        task_id=str(uuid5(_TASKS, entry.item_id)),
        item_id=entry.item_id,
    )
