"""Removes a queue with all its rows.

A request to remove a queue writes the time to its config. Adds and new sessions are refused from then on, and
the sweep ends the sessions. Requests from before the removal can be applied for as long as a queue settles
before it sleeps. After that time the sweep deletes the jobs, done ones included, and the dead jobs, a bounded
number of rows at a time: earlier, a late copy of an add could find its job gone, and bring it back. Items of
live jobs fail, through the outbox. A run that finds no row deletes the doorbell, and marks the config as that
of a removed queue. This mark lets no late copy of a request change the config of the next queue of the name.

A sweep can stand still for so long that another one ends the removal and the queue is created anew. It
deletes only rows that it read before it found the removal still under way: the next queue had none then. Each
delete compares the row with what was read, so that it leaves a later one of the same key. A doorbell has no
such condition: where the sweep stands still just before it deletes it, that of the next queue goes, and
the first process that finds it gone, and may create queues, creates it again.

A queue with live jobs is removed by force alone. Otherwise it is marked idle before the look that finds none:
an add is seen by the look, or sees the mark and wakes the queue, so that the write of the removal fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.queue.administration import paging
from fanin.queue.administration.creating import Doorbells
from fanin.queue.administration.part_reads import look
from fanin.queue.context import QueueContext
from fanin.queue.maintenance import sleeping
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import SECOND_US, Job

ATTEMPTS = 8
ROWS_A_RUN = 5000
"""The most rows of one queue that a run of the sweep deletes."""
EMPTY_DAYS = 30
"""How long a queue is idle before the sweep removes it."""
T = TypeVar("T")
REASON = "the queue of the job was removed"


def begin(context: QueueContext, *, force: bool) -> QueueConfig:
    """Request the removal of a queue, and return its config; repeatable.

    Raises NotFound for a queue that does not exist, and Conflict for one with live jobs unless *force*.
    """
    for attempt in range(ATTEMPTS):
        before = context.read_config()
        if before is None:
            raise NotFound(f"queue {context.key.name!r} does not exist")
        if before.removing_us is not None:
            return before
        if not force:
            before = _idle(context, before)
        after = None if before is None else removing(before, context.effects.now())
        if after is not None and context.write_config(after):
            return after
        context.effects.pause(attempt)
    raise StoreUnavailable(f"queue {context.key.name!r} changes too often at the moment; retry")


def begin_if_forgotten(context: QueueContext) -> None:
    """Request the removal of a queue that has been idle for 30 days, without a session or a dead job.

    A paused queue is kept: its next add would create it again, and it would not be paused.
    """
    config, now = context.config(), context.effects.now()
    if config.paused or config.idle_us is None or now - config.idle_us < EMPTY_DAYS * 86_400 * SECOND_US:
        return
    # The config was marked idle before this look, and its write fails if an add woke the queue since.
    if not (_has_jobs(context) or _has_dead(context) or context.store.members(context.key)):
        context.write_config(removing(config, now))


def removing(config: QueueConfig, now: int) -> QueueConfig:
    """Return the config of a queue that the sweep removes."""
    return replace(config, revision=config.revision + 1, removing_us=now, asleep_us=None)


def removed(config: QueueConfig, now: int) -> QueueConfig:
    """Return the config of a queue of which nothing is left."""
    return replace(config, revision=config.revision + 1, removed_us=now)


def proceed(
    context: QueueContext, doorbells: Doorbells | None, settle: float = sleeping.SETTLE_SECONDS
) -> bool:
    """Delete some rows of a queue that is being removed; return whether nothing of it is left."""
    config = context.read_config()
    if config is None or config.removing_us is None:
        return config is None
    now = context.effects.now()
    is_settled = now - config.removing_us >= settle * SECOND_US
    found = _end_sessions(context, config) | (is_settled and _delete_some(context, config))
    # The outbox is read last: the removal of a job moves its items there.
    if Maintenance(context).report_outbox(range(config.parts)) or found or not is_settled:
        return False
    if any(context.effects.each(context.store.has_outbox, context.parts())):
        return False  # an entry that a newer release wrote
    if not _is_under_way(context, config):
        return False  # the doorbell is the next queue's
    if config.doorbell is not None:
        if doorbells is None:
            return False  # the sweep, which can delete the doorbell, ends the removal
        doorbells.delete(context.key, config.doorbell)
    return context.write_config(removed(config, now))


def _idle(context: QueueContext, before: QueueConfig) -> QueueConfig | None:
    """Return the config of the queue once it is marked idle and has no live job; None to try again.

    Raises Conflict for a queue with live jobs.
    """
    marked = before
    if before.idle_us is None:
        marked = sleeping.idle(before, context.effects.now())
        if not context.write_config(marked):
            return None
    if _has_jobs(context):
        sleeping.wake(context)
        name = context.key.name
        raise Conflict(
            f"queue {name!r} has jobs that are queued, in progress or delayed; force=true fails them"
        )
    return marked


def _has_jobs(context: QueueContext) -> bool:
    return any(each.in_use for each in look(context, context.parts()))


def _has_dead(context: QueueContext) -> bool:
    """Return whether there is a dead job, by the keys alone: its row can be deleted before it is read."""
    within = paging.range_of(order.DEAD, 0, None)
    return any(context.effects.each(lambda part: context.store.dead_keys(part, within, 1), context.parts()))


def _is_under_way(context: QueueContext, config: QueueConfig) -> bool:
    """Return whether the removal that *config* began has not ended: rows read before are its queue's."""
    return context.read_config() == config


def _end_sessions(context: QueueContext, config: QueueConfig) -> bool:
    """End and delete all sessions; return whether there were any."""
    store, queue = context.store, context.key
    sessions = store.members(queue)
    is_under_way = bool(sessions) and _is_under_way(context, config)
    for member in sessions if is_under_way else ():
        store.end_session(queue, member.id, None)
        store.forget(queue, member.id)
    return bool(sessions)


def _delete_some(context: QueueContext, config: QueueConfig) -> bool:
    """Delete up to ROWS_A_RUN rows; return whether any may be left."""
    store, remaining = context.store, ROWS_A_RUN
    for number in range(config.parts):
        rows, _ = store.page(context.part(number), "", remaining)
        remaining -= _delete(context, config, partial(_remove, context), rows)
        if remaining <= 0:
            return True
    for part in context.parts():
        remaining -= _delete(context, config, store.remove_dead, store.dead(part, remaining))
        if remaining <= 0:
            return True
    # Another sweep may have deleted all dead jobs that were listed before they were read, and not the others.
    return remaining < ROWS_A_RUN or _has_dead(context)


def _delete(
    context: QueueContext, config: QueueConfig, delete: Callable[[T], object], rows: Sequence[T]
) -> int:
    """Delete rows that were just read, unless the removal has ended; return how many were read."""
    if rows and _is_under_way(context, config):
        context.effects.each(delete, rows)
    return len(rows)


def _remove(context: QueueContext, job: Job) -> None:
    """Delete a job, and fail its items; a job that has changed is left for the next run."""
    context.store.remove(job, lifecycle.removal_entries(job, REASON))
