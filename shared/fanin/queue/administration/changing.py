"""Changes of a queue by request: pauses and resumes it; revives dead jobs and deletes jobs, some at a time.

A paused queue takes adds and acks, and no job of it is claimed. A worker reads a changed config within a
heartbeat, and an invocation of a function reads it when it starts.

A deleted job leaves the mark of a done one, so that a late copy of its add does not bring it back. Its item,
and that of a requested rerun, fail through the outbox, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fanin.errors import NotFound, StoreUnavailable
from fanin.queue.administration import paging
from fanin.queue.administration.listing import Listings
from fanin.queue.administration.paging import ListedRow, Record, dead_at
from fanin.queue.context import QueueContext
from fanin.queue.maintenance.sleeping import wake, wake_before
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Job, JobState, Ring

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


REVIVED_A_REQUEST = 100
"""The most dead jobs that one request revives."""


class Revival(StrEnum):
    """The outcome of a request to revive a dead job; *live*: its key has a live job."""

    REVIVED = "revived"
    LIVE = "liveJob"
    NOT_FOUND = "notFound"


@dataclass(frozen=True, slots=True)
class RevivedJobs:
    """The outcome for each dead job; *last*: the row after which more can be revived, if any."""

    outcomes: dict[Record, Revival]
    last: ListedRow | None = None


def revive_some(queue: Listings, records: Sequence[Record]) -> RevivedJobs:
    """Revive the dead jobs *records*; repeatable: one that was revived before is not found."""
    found = paging.dead_at(queue.context, records)

    def revive(record: Record) -> Revival:
        if record not in found:
            return Revival.NOT_FOUND
        if queue.revive(found[record]):
            return Revival.REVIVED
        still_dead = paging.dead_at(queue.context, [record])
        return Revival.LIVE if still_dead else Revival.NOT_FOUND

    distinct = list(dict.fromkeys(records))
    outcomes = queue.context.effects.each(revive, distinct)
    return RevivedJobs(dict(zip(distinct, outcomes, strict=True)))


def revive_all(queue: Listings, after: ListedRow | None = None) -> RevivedJobs:
    """Revive the first 100 dead jobs after the row *after*, the longest dead first."""
    page = paging.dead(queue.context, REVIVED_A_REQUEST, after)
    revived = revive_some(queue, [(row.number, row.key.sort) for row, _ in page.jobs])
    return RevivedJobs(revived.outcomes, page.last)


ATTEMPTS = 8
RINGS_A_PART = 1000
"""The most ready jobs of a part that a resumed queue rings for; the sweep rings for what is left."""


def pause(context: QueueContext) -> QueueConfig:
    """Pause the queue, and return its config; repeatable. Raises NotFound for a queue that does not exist."""
    return _switch(context, paused=True)


def resume(context: QueueContext) -> QueueConfig:
    """Resume the queue, ring for its ready jobs, and return its config; repeatable.

    A function that was invoked by a ring while the queue was paused has used the ring up.
    Raises NotFound for a queue that does not exist.
    """
    config = _switch(context, paused=False)
    context.effects.each(lambda part: _ring(context, part), context.parts())
    return config


def _switch(context: QueueContext, *, paused: bool) -> QueueConfig:
    for attempt in range(ATTEMPTS):
        before = context.read_config()
        if before is None:
            raise NotFound(f"queue {context.key.name!r} does not exist")
        after = replace(before, revision=before.revision + 1, paused=paused)
        if before.paused == paused:
            return before
        if context.write_config(after):
            return after
        context.effects.pause(attempt)
    raise StoreUnavailable(f"queue {context.key.name!r} changes too often at the moment; retry")


def _ring(context: QueueContext, part: PartKey) -> None:
    ready = context.store.ready(part, RINGS_A_PART)
    if ready:
        context.ring([Ring(part.number)] * len(ready))
