"""Remove the user data of ended batches: what is removed, and which batches of a list are ready for it.

The row of a deleted batch stays until its time to live, so that a delayed ack is answered as one for a batch
that has expired. It has no user data, is over for every reader, and is in no list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from fanin.errors import Conflict
from fanin.tracker.rules.model import Batch, Position
from fanin.tracker.rules.options import OPTIONS, BatchOptions, options_of

DELETED_A_REQUEST = 50
"""Batches of a list that one request looks at."""
KEPT_OPTIONS = tuple(name for name, each in OPTIONS.items() if each.is_kept)
"""Options that a deleted batch keeps: they hold no text of a user, and its pages are read by them."""
REMOVED = "removed"
"""The fingerprint of a batch whose user data was removed: the real one is a hash of its options."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of one part of a bulk delete.

    *unconfirmed*: batches that were left, because the bus has not confirmed their ending events yet, a task
    waits for them, or their results are in a bucket that this process does not know.
    *resume*: the position to continue from; None at the end of the list.
    """

    count: int
    unconfirmed: int
    resume: Position | None


def without_user_data(batch: Batch, at: datetime) -> Batch:
    """Return *batch* as it is stored after a delete at *at*."""
    usual = {name: value for name, value in options_of(BatchOptions()).items() if name not in KEPT_OPTIONS}
    batch = replace(batch, deleted_at=at)
    return replace(
        batch,
        **usual,
        next_check_at=batch.results_until,
        expires_at=batch.created_at,
        fingerprint=REMOVED,
        end_reason=None,
        ended_by=None,
        completed_by=None,
        origin_batch_id=None,
    )


def is_settled(batch: Batch) -> bool:
    """Whether an ended batch has no next check, but that of its results.

    Its event is confirmed then, and its parent's item acked.
    """
    return not batch.is_alive and batch.next_check_at in (None, batch.results_until)


def check_deletable(batch: Batch, waits: bool) -> None:
    """Raise Conflict if *batch* is live, is not confirmed, or a task *waits* for it."""
    if batch.is_alive:
        raise Conflict(f"batch {batch.batch_id} is {batch.state}; cancel it first, or wait for its end")
    if not is_settled(batch):
        raise Conflict(
            f"the ending event of batch {batch.batch_id} is not confirmed yet; delete the batch in a minute"
        )
    if waits:
        raise Conflict(f"what waits for the end of batch {batch.batch_id} is not resumed yet")


def ended_before(batch: Batch, at: datetime) -> bool:
    """Whether *batch* has ended before *at*, and is not deleted."""
    return batch.deleted_at is None and batch.ended_at is not None and batch.ended_at < at
