"""The scheduled sweep: ends overdue batches, repairs what a crash left, resends unconfirmed events."""

from typing import Any

from fanin import names
from functions.invocation_metrics.counts import age, count, measured
from functions.wiring import tracking

LAST_MS = 240_000
"""Milliseconds reserved for the last batch, which may have many pages to repair."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    tracker = tracking.tracker()
    swept = tracker.sweep(lambda: context.get_remaining_time_in_millis() > LAST_MS)
    count(
        {
            names.SWEEP_LOOKED: swept.looked,
            names.SWEEP_REPAIRED: swept.completed,
            names.SWEEP_ANNOUNCED_AGAIN: swept.announced_again,
            names.SWEEP_FAILED: swept.failed,
            names.THRESHOLDS_REACHED: swept.reached,
        }
    )
    age(names.OLDEST_BATCH_SECONDS, tracker.longest_open().total_seconds())
