"""The thresholds of a live batch that are reported on request: first failure, 50 %, 90 %, and no acks.

A batch asks for them when it is opened. Only the batches that ask are checked each minute, and only they
record the time of their acks. A check without a percentage reads the batch's row and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fanin.tracker.rules.model import Batch, Progress
from fanin.tracker.rules.options import PERCENT, Threshold, mark_of

CHECK_AGAIN_AFTER = timedelta(seconds=30)
"""When a batch that asks for the first failure or for a percentage is due again: before the next sweep, which
begins a minute after the one that comes to the batch. So each sweep checks it."""
ACKS_COUNT_AFTER = 8
"""An ack is recorded an eighth of ``stuck_after`` after the last recorded one: acks cost few writes.

6,000 acks alone in ten minutes, ``stuck_after`` a minute: 80 writes of the batch's row, by a fourth 40, by
each ack 6,000, and the row takes 1,000 a second. A stall is reported an eighth of ``stuck_after`` late.
"""


@dataclass(frozen=True, slots=True)
class Reached:
    """A threshold that a live batch has reached, with its progress *at* that time.

    *stall*: which stall of the batch it is, from 1; 0 for a threshold that is reported once.
    """

    threshold: Threshold
    at: datetime
    progress: Progress
    total: int
    stall: int = 0

    @property
    def mark(self) -> str:
        """The last part of its event id, the same each time it is sent."""
        return mark_of(self.threshold, self.stall)


def asks(batch: Batch) -> bool:
    """Whether thresholds of *batch* are reported, or its items are counted to end it."""
    return bool(batch.notify_at) or batch.stuck_after is not None or _is_counted(batch, closed=True)


def _is_counted(batch: Batch, closed: bool) -> bool:
    """Whether the acked items of a live batch are counted each minute, because they may end it."""
    by_percent = closed and batch.min_succeeded_percent is not None
    return by_percent or batch.min_succeeded is not None or batch.failure_sample is not None


def next_threshold_check(
    batch: Batch, closed: bool, at: datetime, wait: timedelta = CHECK_AGAIN_AFTER
) -> datetime | None:
    """Return when a live batch may have reached a threshold, or its end, next; None if none is left.

    *closed*: whether it is CLOSED; a percentage is one of a total that is final. *wait*: after a check *at*
    that time; 0 after a change of its state, so that the next sweep checks it.
    """
    unreported = [each for each in batch.notify_at if mark_of(each) not in batch.reported]
    is_due = _is_counted(batch, closed) or any(closed or each not in PERCENT for each in unreported)
    checks = [at + wait] if is_due else []
    if batch.stuck_after is not None:
        since = _quiet_since(batch)
        checks.append((at if batch.stalled_at == since else since) + _stall(batch.stuck_after))
    return min(checks, default=None)


def stalled(batch: Batch, at: datetime) -> bool:
    """Whether no ack came for ``stuck_after``, and this stall is not reported yet."""
    since = _quiet_since(batch)
    if batch.stuck_after is None or batch.stalled_at == since:
        return False
    return at - since >= _stall(batch.stuck_after)


def has_failed(batch: Batch) -> bool:
    """Whether the first failure is asked for, has happened, and is not reported yet."""
    unreported = mark_of(Threshold.FIRST_FAILURE) not in batch.reported
    return unreported and Threshold.FIRST_FAILURE in batch.notify_at and batch.failed + batch.healed > 0


def percentages_left(batch: Batch) -> tuple[Threshold, ...]:
    """Return the percentages that are asked for and not reported yet."""
    return tuple(each for each in batch.notify_at if each in PERCENT and mark_of(each) not in batch.reported)


def passed(batch: Batch, acked: int, threshold: Threshold) -> bool:
    """Whether *acked* items are the percentage *threshold* of the total."""
    return acked * 100 >= batch.total * PERCENT[threshold]


def ends_by_successes(batch: Batch) -> bool:
    """Whether so many successes end the batch, of however many items."""
    return batch.min_succeeded is not None or batch.min_succeeded_percent is not None


def may_be_enough(batch: Batch, succeeded: int) -> bool:
    """Whether *succeeded* items may end a batch that may have grown, or been closed, since it was read."""
    by_count = batch.min_succeeded is not None and succeeded >= batch.min_succeeded
    percent = batch.min_succeeded_percent
    return by_count or (percent is not None and succeeded > 0 and succeeded * 100 >= batch.total * percent)


def is_enough(batch: Batch, succeeded: int) -> bool:
    """Whether *succeeded* items are as many as end the batch in its state."""
    limit = batch.success_limit
    return limit is not None and succeeded >= limit


def may_end(batch: Batch, count: Progress) -> bool:
    """Whether the batch would end if as many of its items are acked as *count* estimates."""
    exact = replace(count, acked=count.estimate, upper_bound=count.estimate)
    return is_enough(batch, count.estimate - batch.failed) or fails_by_sample(batch, exact)


def fails_by_sample(batch: Batch, count: Progress) -> bool:
    """Whether the failures of *batch* are too large a part of its acked items, which are counted after them.

    Items that may be acked count as acked, and those that are count for the sample: it is never too early.
    """
    percent, sample = batch.max_failure_percent, batch.failure_sample
    if percent is None or sample is None or not batch.failed or count.acked < sample:
        return False
    return batch.failed * 100 >= count.upper_bound * percent


def counts_as_ack(batch: Batch, at: datetime) -> bool:
    """Whether an ack *at* that time is recorded in a live batch."""
    if batch.stuck_after is None or not batch.is_alive:
        return False
    return at - _quiet_since(batch) >= batch.stuck_after / ACKS_COUNT_AFTER


def admits(batch: Batch, seen: Batch, reached: Reached) -> bool:
    """Whether *reached*, found in the batch as it was *seen*, is reported of the stored *batch*.

    A batch that was closed meanwhile is not stuck: it may only lack its completion.
    """
    if not batch.is_alive:
        return False
    if reached.threshold is not Threshold.STUCK:
        return reached.mark not in batch.reported
    return (batch.state, batch.stalls, batch.acked_at) == (seen.state, reached.stall - 1, seen.acked_at)


def reported(batch: Batch, reached: Reached) -> Batch:
    """Return *batch* after the report of *reached*."""
    if reached.threshold is Threshold.STUCK:
        return replace(batch, stalls=reached.stall, stalled_at=_quiet_since(batch))
    return replace(batch, reported=batch.reported | {reached.mark})


def _quiet_since(batch: Batch) -> datetime:
    """Return the time of the last recorded ack, or of the opening."""
    return batch.acked_at or batch.created_at


def _stall(stuck_after: timedelta) -> timedelta:
    """Return how old the last recorded ack must be: a later one may be unrecorded for an eighth."""
    return stuck_after + stuck_after / ACKS_COUNT_AFTER
