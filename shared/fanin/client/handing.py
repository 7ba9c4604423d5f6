"""The items that functions of this process work on, and which of them were handed over to a new owner.

The new owner of an item, a child batch, a task, a job or another process, acks it when it ends; the consumer
then acks nothing. A repeated call of the function finds the owner that an earlier call made, because the keys
of what it makes are derived from its item.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from fanin.client.checking import key_or_fresh
from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound

if TYPE_CHECKING:
    from fanin.client.batch import Batch
    from fanin.client.model import NewTask

OF_ITEMS = UUID("5f0c6d0e-4c1e-5b43-9d58-53d1c0a3a7f2")
REFUSED = (InvalidRequest, Conflict, NotFound)
"""Errors after which nothing was made; after any other one the outcome is unknown."""


@dataclass(eq=False, slots=True)
class UnderWork:
    """One call of a function for one item.

    *last*: an exception of this call fails the item. *message_id*, *queue*: of the message, so that another
    message of the item makes tasks and jobs of its own. *handed*: the item has a new owner. *doubtful*: it
    may have one. *child*: the batch that was opened under a derived key. *unclosed*: batches whose blocks
    raised, each with the exception.
    """

    item_id: str
    last: bool = False
    message_id: str = ""
    queue: str = ""
    handed: bool = False
    doubtful: bool = False
    child: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    adds: Counter[str] = field(default_factory=Counter)
    unclosed: dict[str, tuple[Batch, BaseException]] = field(default_factory=dict)

    def key(self, *names: str) -> str:
        """Return the key of what this item makes under *names*, the same in each call for the item."""
        return str(uuid5(OF_ITEMS, json.dumps([self.item_id, *names])))

    def opened(self, batch_id: str, key: str) -> None:
        """Note that the batch of *key* is the new owner; its adds begin from the first one."""
        self.keys[batch_id] = key
        self.unclosed.pop(batch_id, None)
        self.adds.pop(batch_id, None)

    def left(self, batch: Batch, error: BaseException) -> bool:
        """Note that the block of a child raised; return whether it stays open for the next attempt."""
        if self.last or batch.id not in self.keys:
            return False
        self.unclosed[batch.id] = batch, error
        self.child = None if self.child == batch.id else self.child
        return True

    def returned(self) -> None:
        """End what the function gave up although it returned: there is no next attempt."""
        for batch, error in self.unclosed.values():
            if not batch.cancel_for(error):
                self.doubtful, self.handed = True, False

    @property
    def is_open(self) -> bool:
        """Whether it is unknown if the item has a new owner, so that the message has to return."""
        return self.doubtful and not self.handed


@dataclass(slots=True)
class _Place:
    """What is under work in one thread: a coroutine may keep the context of an earlier call."""

    current: UnderWork | None = None


_here: ContextVar[_Place] = ContextVar("fanin_under_work")
_all: dict[int, UnderWork] = {}


@contextmanager
def under_work(work: UnderWork) -> Iterator[UnderWork]:
    """Run the block as the call for an item."""
    place = _here.get(None)
    if place is None:
        _here.set(place := _Place())
    before, place.current = place.current, work
    _all[id(work)] = work
    try:
        yield work
    finally:
        place.current = before
        del _all[id(work)]


def current() -> UnderWork:
    """Return the call that runs here, or the only one of this process. Raises InvalidRequest."""
    place, every = _here.get(None), list(_all.values())
    found = place.current if place is not None else None
    if found is None and len(every) == 1:
        found = every[0]
    if found is None:
        raise InvalidRequest(
            "no item is under work here: call it in a function of @fanin.acks, or pass the item"
        )
    return found


def calls_for(*item_ids: str | None) -> list[UnderWork]:
    """Return the calls of this process that work on one of *item_ids*, in whatever thread."""
    return [work for work in list(_all.values()) if work.item_id in item_ids]


def hand_over(item_id: str | None) -> None:
    """Leave an item, by default the one under work, to its new owner. Raises InvalidRequest."""
    calls = [current()] if item_id is None else calls_for(item_id)
    if not calls:
        raise InvalidRequest(
            f"item {item_id} is not under work here: an item is handed over by the function of @fanin.acks"
            " that is called for it",
            field="itemId",
        )
    for work in calls:
        work.handed = True


@contextmanager
def taken_over(*item_ids: str | None) -> Iterator[None]:
    """Hand those of *item_ids* over that are under work, if the block succeeds; it makes their new owner."""
    with making(*item_ids):
        yield
    made(*item_ids)


@contextmanager
def making(*item_ids: str | None) -> Iterator[None]:
    """Run the block, which makes owners of items; after an unknown outcome each may have one."""
    try:
        yield
    except BaseException as error:
        made(*item_ids, error=error)
        raise


def made(*item_ids: str | None, error: BaseException | None = None) -> None:
    """Note that those of *item_ids* that are under work have a new owner; with an *error*, that they may."""
    for work in calls_for(*item_ids):
        if error is None:
            work.handed = True
        elif not isinstance(error, REFUSED):
            work.doubtful = True


@contextmanager
def add_key(batch_id: str, given: str | None) -> Iterator[str]:
    """Yield the key of an add: *given*, else in a function one derived from the item and the adds before."""
    work = _adding(batch_id) if given is None else None
    if work is None:
        yield key_or_fresh(given)
        return
    number = work.adds[batch_id]
    work.adds[batch_id] += 1
    try:
        yield work.key("add", work.keys.get(batch_id) or f"{work.queue} {batch_id}", str(number))
    except BaseException as error:
        if work.adds[batch_id] == number + 1:
            work.adds[batch_id] = number
        if isinstance(error, KeyReused):
            raise KeyReused(_other_count(batch_id, number)) from error
        raise


def tasks_key(tasks: Sequence[NewTask], given: str | None) -> str:
    """Return the key under which tasks are registered: derived, if one is of an item under work."""
    items = [task.item_id for task in tasks]
    calls = calls_for(*items) if given is None else []
    if not calls:
        return key_or_fresh(given)
    said = [[task.target, task.payload, task.task_id, task.priority, task.item_id] for task in tasks]
    return calls[0].key("tasks", calls[0].message_id, json.dumps(said, sort_keys=True))


def job_id(item_id: str, key: str) -> str | None:
    """Return the id of the job that an item under work adds under *key*; None for any other item."""
    calls = calls_for(item_id)
    return calls[0].key("job", calls[0].message_id, key) if calls else None


def _adding(batch_id: str) -> UnderWork | None:
    """Return the call that adds to a batch: the one whose child it is, else the one that runs here."""
    for work in list(_all.values()):
        if batch_id in work.keys:
            return work
    place = _here.get(None)
    return place.current if place is not None else None


def _other_count(batch_id: str, number: int) -> str:
    return (
        f"add number {number + 1} of this item to batch {batch_id} had another count at an earlier attempt:"
        " add the same counts in the same order at each attempt, or pass a key"
    )
