"""Packages of some sections go to a batch API: each is a task, and its section is the target."""

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
    """Registers tasks for the packages of *sections*, whose names are those of targets, too."""

    register: Callable[[NewTask], object]
    sections: frozenset[str]

    def takes(self, entry: Entry) -> bool:
        """Whether the package's item is acked by its task's end, and not by the worker."""
        return entry.package.section in self.sections

    def hand_over(self, entry: Entry) -> bool:
        """Whether there is a task for the package now; where nobody knows, the message has to come again."""
        try:
            self.register(wish_for(entry))
        except StoreUnavailable as error:
            logger.warning("a task may not be there; its message goes back: %s", error)
            return False
        return True


def wish_for(entry: Entry) -> NewTask:
    """The task of a package: the same again for the same item, however often its message comes."""
    return NewTask(
        payload={"package": entry.key, "size": entry.package.size},
        target=entry.package.section,
        task_id=str(uuid5(_TASKS, entry.item_id)),
        item_id=entry.item_id,
    )
