"""The schedule: end what is overdue, repair what a crash left, resend events that were not confirmed."""

from typing import Any

from functions.metrics.counts import age, count, measured
from functions.wiring import tracking

LAST_MS = 240_000
"""Kept for a batch with many pages to repair: after its first minute a sweep begins no other."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    tracker = tracking.tracker()
    done = tracker.sweep(lambda: context.get_remaining_time_in_millis() > LAST_MS)
    count(
        SweepLooked=done.looked,
        SweepRepaired=done.completed,
        SweepAnnouncedAgain=done.announced_again,
        SweepFailed=done.failed,
    )
    age("OldestOpenBatchSeconds", tracker.longest_open().total_seconds())
