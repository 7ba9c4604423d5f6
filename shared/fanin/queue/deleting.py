"""Deletes jobs: queued and delayed ones, and the records of dead ones.

A deleted job leaves the mark of a done one, so that a late copy of its add does not bring it back. Its item,
and that of a requested rerun, fail through the outbox, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from fanin.errors import StoreUnavailable
from fanin.queue import lifecycle
from fanin.queue.context import QueueContext
from fanin.queue.keys import JobKey, job_key
from fanin.queue.model import Job, JobState
from fanin.queue.paging import Record, dead_at
from fanin.queue.sleeping import wake, wake_before

ATTEMPTS = 8
REASON = "the job was deleted"


class Deletion(StrEnum):
    """What became of a request to delete a job."""

    DELETED = "deleted"
    IN_PROGRESS = "inProgress"
    NOT_FOUND = "notFound"


def delete_jobs(context: QueueContext, names: Sequence[str]) -> dict[str, Deletion]:
    """Delete the jobs of the keys *names*, each by itself; a job that is in progress stays.

    Repeatable: a job that was deleted before is not found. Raises Conflict for a queue that is being removed.
    """
    wake_before(context)
    distinct = list(dict.fromkeys(names))
    outcomes = context.effects.each(lambda name: _delete(context, name), distinct)
    wake(context)  # the sweep reports the outbox of queues that are awake
    return dict(zip(distinct, outcomes, strict=True))


def delete_dead(context: QueueContext, records: Sequence[Record]) -> dict[Record, Deletion]:
    """Delete the *records* of dead jobs, whose items have failed before; repeatable."""
    found = dead_at(context, records)

    def delete(record: Record) -> Deletion:
        if record not in found:
            return Deletion.NOT_FOUND
        is_deleted = context.effects.insist(lambda: context.store.remove_dead(found[record]))
        return Deletion.DELETED if is_deleted else Deletion.NOT_FOUND

    distinct = list(dict.fromkeys(records))
    return dict(zip(distinct, context.effects.each(delete, distinct), strict=True))


def _delete(context: QueueContext, name: str) -> Deletion:
    for attempt in range(ATTEMPTS):
        seen = _live(context, name)
        if seen is None:
            return Deletion.NOT_FOUND
        if seen.state is JobState.BUSY:
            return Deletion.IN_PROGRESS
        if lifecycle.is_deleted(_mark(context, seen), seen):
            return Deletion.DELETED
        context.effects.pause(attempt)
    raise StoreUnavailable(f"job {name!r} changes too often at the moment; retry")


def _live(context: QueueContext, name: str) -> Job | None:
    """Return the live job of a key, if there is one."""
    key: JobKey = job_key(context.key, context.config().parts, name)
    stored = context.effects.insist(lambda: context.store.get(key))
    return stored if stored is not None and stored.is_live else None


def _mark(context: QueueContext, seen: Job) -> Job | None:
    """Store the mark over the job as it was seen, with its outbox entries; return the stored job."""
    at, entries = context.effects.now(), lifecycle.removal_entries(seen, REASON)
    return context.effects.insist(lambda: context.store.delete(seen, entries, at))
