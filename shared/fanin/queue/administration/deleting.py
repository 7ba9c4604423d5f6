"""Deletes jobs: queued and delayed ones, and the records of dead ones.

A deleted job leaves the mark of a done one, so that a late copy of its add does not bring it back. Its item,
and that of a requested rerun, fail through the outbox, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from fanin.errors import StoreUnavailable
from fanin.queue.administration.paging import Record, dead_at
from fanin.queue.context import QueueContext
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.model import Job, JobState
from fanin.queue.upkeep.sleeping import wake, wake_before

ATTEMPTS = 8
REASON = "the job was deleted"


class Deletion(StrEnum):
    """The outcome of a request to delete a job."""

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
        is_deleted = context.effects.answer_of(lambda: context.store.remove_dead(found[record]))
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
        if _mark(context, seen):
            return Deletion.DELETED
        context.effects.pause(attempt)
    raise StoreUnavailable(f"job {name!r} changes too often at the moment; retry")


def _live(context: QueueContext, name: str) -> Job | None:
    """Return the live job of a key, if there is one.

    While the parts are raised, jobs are moved from the old row to the new one, which is read last.
    """
    rows, config = context.rows(name), context.config()
    old_first = [rows.at, rows.other] if config.phase is Phase.PREPARING else [rows.other, rows.at]
    for key in filter(None, old_first):
        stored = context.check(key)
        if stored is not None and stored.is_live:
            return stored.seen
    return None


def _mark(context: QueueContext, seen: Job) -> bool:
    """Store the mark over the job as it was seen, with its outbox entries; return whether it is stored."""
    effects, entries = context.effects, lifecycle.removal_entries(seen, REASON)
    at, deletion = effects.now(), effects.new_id()
    stored = effects.answer_of(lambda: context.store.delete(seen, entries, at, deletion))
    # The next job of the key names the request, too.
    return stored is not None and stored.done_by == deletion
