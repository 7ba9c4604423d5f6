"""Registers tasks for packages of some sections; the section is the task's target."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid5

from fanin.errors import StoreUnavailable
from fanin.grouper import NewTask
from functions.demo.index import Entry

_TASKS = UUID("3d0f6f5e-7f43-5d55-9f57-0f8a5cf1a5c2")
logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Bundling:
    """Registers tasks for the packages of *sections*, each of which is a target."""

    register: Callable[[NewTask], object]
    sections: frozenset[str]

    def takes(self, entry: Entry) -> bool:
        """Return whether the end of a task acks the package's item, not the worker."""
        return entry.package.section in self.sections

    def hand_over(self, entry: Entry) -> bool:
        """Register the package's task; return False if it may not be stored: the message is then retried."""
        try:
            self.register(task_of(entry))
        except StoreUnavailable as error:
            logger.warning("a task may not be registered; its message is retried: %s", error)
            return False
        return True


def task_of(entry: Entry) -> NewTask:
    """Return the task of a package, equal for every delivery of the same item."""
    return NewTask(
        payload={"package": entry.key, "size": entry.package.size},
        target=entry.package.section,
        task_id=str(uuid5(_TASKS, entry.item_id)),
        item_id=entry.item_id,
    )
