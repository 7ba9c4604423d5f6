"""New owners of the items that functions work on, and the keys of what a function makes.

The new owner of an item, a child batch, a task, a job or another process, acks it when it ends; the consumer
then acks nothing. A repeated call of the function finds the owner that an earlier call made, because the keys
of what it makes are derived from its item.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fanin.client.argument_checks.checking import key_or_fresh
from fanin.client.handing_over.under_work import (
    adding_call,
    calls_for,
    note_owner,
    refuse_late_owner,
    refuse_owner_beside_job,
)
from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound

if TYPE_CHECKING:
    from fanin.client.task_model import NewTask

REFUSED = (InvalidRequest, Conflict, NotFound)
"""Errors after which nothing was made; after any other one the outcome is unknown."""


@contextmanager
def new_owner(*item_ids: str | None) -> Iterator[None]:
    """Run the block, which creates the new owner of items; those under work are handed over to it."""
    refuse_owner_beside_job(*item_ids)
    with creating_owner(*item_ids):
        yield
        owner_created(*item_ids)


@contextmanager
def creating_owner(*item_ids: str | None) -> Iterator[None]:
    """Run the block, which creates owners of items; if its outcome is unknown, each may have one.

    So it is for a function that returns before the block ends. Raises InvalidRequest for an item whose
    function has returned, or runs in the parent of this process.
    """
    refuse_late_owner(*item_ids)
    calls = calls_for(*item_ids)
    for work in calls:
        work.start_owner()
    try:
        yield
    except BaseException as error:
        owner_created(*item_ids, error=error)
        raise
    finally:
        for work in calls:
            with work.lock:
                work.creating -= 1


def owner_created(*item_ids: str | None, error: BaseException | None = None) -> None:
    """Note that those of *item_ids* that are under work have a new owner; with an *error*, that they may."""
    for item_id in item_ids:
        if item_id is not None and error is None:
            note_owner(item_id)
    if error is not None and not isinstance(error, REFUSED):
        for work in calls_for(*item_ids):
            work.doubtful = True


@contextmanager
def add_key(batch_id: str, given: str | None) -> Iterator[str]:
    """Yield the key of an add: *given*, else in a function one derived from the item and the adds before."""
    work = adding_call(batch_id) if given is None else None
    if work is None:
        yield key_or_fresh(given)
        return
    with work.lock:
        number = work.adds[batch_id]
        work.adds[batch_id] += 1
    try:
        yield work.key("add", work.keys.get(batch_id) or f"{work.queue} {batch_id}", str(number))
    except BaseException as error:
        with work.lock:
            work.adds[batch_id] -= work.adds[batch_id] == number + 1
        if isinstance(error, KeyReused):
            raise KeyReused(_other_count(batch_id, number)) from error
        raise


def tasks_key(tasks: Sequence[NewTask], given: str | None) -> str:
    """Return the key under which tasks are registered: derived, if one is of an item under work."""
    items = [task.item_id for task in tasks]
    calls = calls_for(*items) if given is None else []
    if not calls:
        return key_or_fresh(given)
    request = [[task.target, task.payload, task.task_id, task.priority, task.item_id] for task in tasks]
    return calls[0].key("tasks", calls[0].message_id, json.dumps(request, sort_keys=True))


def job_id(item_id: str, key: str) -> str | None:
    """Return the id of the job that an item under work adds under *key*; None for any other item."""
    calls = calls_for(item_id)
    return calls[0].key("job", calls[0].message_id, key) if calls else None


def _other_count(batch_id: str, number: int) -> str:
    return (
        f"add number {number + 1} of this item to batch {batch_id} had another count at an earlier attempt:"
        " add the same counts in the same order at each attempt, or pass a key"
    )
