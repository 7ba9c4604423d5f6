"""The thresholds of a live batch that are reported on request: first failure, 50 %, 90 %, and no acks.

A batch asks for them when it is opened. Only the batches that ask are checked each minute, and only they
record the time of their acks. A check without a percentage reads the batch's row and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from fanin.errors import InvalidRequest

if TYPE_CHECKING:
    from fanin.tracker.model import Batch, Progress

CHECK_EVERY = timedelta(minutes=1)
"""The time between two checks of a batch that asks for the first failure or for a percentage."""
ACKS_COUNT_AFTER = 8
"""An ack is recorded an eighth of ``stuck_after`` after the last recorded one: acks cost few writes."""
STUCK_AFTER_MIN, STUCK_AFTER_MAX = timedelta(minutes=1), timedelta(days=366)
CALLBACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Threshold(StrEnum):
    """What is reported of a live batch: STUCK for ``stuck_after``, the others for ``notify_at``."""

    FIRST_FAILURE = "firstFailure"
    HALF = "50%"
    MOST = "90%"
    STUCK = "stuck"


PERCENT = {Threshold.HALF: 50, Threshold.MOST: 90}
ONCE = (Threshold.FIRST_FAILURE, *PERCENT)
"""The thresholds that are reported once, in the order in which a batch keeps them."""


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


def mark_of(threshold: Threshold, stall: int = 0) -> str:
    """Return how rows and event ids name a threshold: ``first_failure``, ``50``, ``90``, ``stuck:2``."""
    if threshold is Threshold.STUCK:
        return f"stuck:{stall}"
    return "first_failure" if threshold is Threshold.FIRST_FAILURE else threshold.removesuffix("%")


def checked_thresholds(given: Iterable[str]) -> tuple[Threshold, ...]:
    """Return the thresholds of ``notify_at`` in their order, each once. Raises InvalidRequest."""
    wanted = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if wanted is None or any(each not in ONCE for each in wanted):
        raise InvalidRequest(f"notifyAt is a list of {', '.join(ONCE)}", field="notifyAt")
    return tuple(each for each in ONCE if each in wanted)


def checked_stuck_after(given: timedelta | None) -> timedelta | None:
    """Return a ``stuck_after`` within its bounds. Raises InvalidRequest."""
    if given is None:
        return None
    if not isinstance(given, timedelta) or not STUCK_AFTER_MIN <= given <= STUCK_AFTER_MAX:
        raise InvalidRequest(
            "stuckAfterSeconds goes from a minute to 366 days, in whole seconds", field="stuckAfterSeconds"
        )
    if given.microseconds:
        raise InvalidRequest("stuckAfterSeconds takes whole seconds", field="stuckAfterSeconds")
    return given


def seconds_of(given: timedelta | None) -> int | None:
    """Return a ``stuck_after`` in seconds."""
    return None if given is None else given // timedelta(seconds=1)


def check_callback(name: str | None) -> None:
    """Raise InvalidRequest for a text that cannot be the name of a callback."""
    if name is not None and not (isinstance(name, str) and CALLBACK.fullmatch(name)):
        raise InvalidRequest(
            "the name of a callback has 1 to 64 of A-Z a-z 0-9 . _ -, the first of A-Z a-z 0-9",
            field="callback",
        )


def asks(batch: Batch) -> bool:
    """Whether thresholds of *batch* are reported."""
    return bool(batch.notify_at) or batch.stuck_after is not None


def next_threshold_check(batch: Batch, closed: bool, at: datetime) -> datetime | None:
    """Return when a live batch may have reached a threshold next; None if it asks for none that is left.

    *closed*: whether it is CLOSED; a percentage is one of a total that is final.
    """
    left = [each for each in batch.notify_at if mark_of(each) not in batch.reported]
    checks = [at + CHECK_EVERY] if any(closed or each not in PERCENT for each in left) else []
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
    left = mark_of(Threshold.FIRST_FAILURE) not in batch.reported
    return left and Threshold.FIRST_FAILURE in batch.notify_at and batch.failed + batch.healed > 0


def percentages_left(batch: Batch) -> tuple[Threshold, ...]:
    """Return the percentages that are asked for and not reported yet."""
    return tuple(each for each in batch.notify_at if each in PERCENT and mark_of(each) not in batch.reported)


def passed(batch: Batch, acked: int, threshold: Threshold) -> bool:
    """Whether *acked* items are the percentage *threshold* of the total."""
    return acked * 100 >= batch.total * PERCENT[threshold]


def counts_as_ack(batch: Batch, at: datetime) -> bool:
    """Whether an ack *at* that time is recorded in a live batch."""
    if batch.stuck_after is None or not batch.is_alive:
        return False
    return at - _quiet_since(batch) >= batch.stuck_after / ACKS_COUNT_AFTER


def admits(batch: Batch, seen: Batch, reached: Reached) -> bool:
    """Whether *reached*, found in the batch as it was *seen*, is reported of the stored *batch*."""
    if not batch.is_alive:
        return False
    if reached.threshold is not Threshold.STUCK:
        return reached.mark not in batch.reported
    return (batch.stalls, batch.acked_at) == (reached.stall - 1, seen.acked_at)


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
