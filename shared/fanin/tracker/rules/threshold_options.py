"""Which thresholds of a live batch are reported, as its options name them: ``notify_at``, ``stuck_after``."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

STUCK_AFTER_MIN, STUCK_AFTER_MAX = timedelta(minutes=1), timedelta(days=366)


class Threshold(StrEnum):
    """What is reported of a live batch: STUCK for ``stuck_after``, the others for ``notify_at``."""

    FIRST_FAILURE = "firstFailure"
    HALF = "50%"
    MOST = "90%"
    STUCK = "stuck"


PERCENT = {Threshold.HALF: 50, Threshold.MOST: 90}
ONCE = (Threshold.FIRST_FAILURE, *PERCENT)
"""The thresholds that are reported once, in the order in which a batch keeps them."""


def mark_of(threshold: Threshold, stall: int = 0) -> str:
    """Return how rows and event ids name a threshold: ``first_failure``, ``50``, ``90``, ``stuck:2``."""
    if threshold is Threshold.STUCK:
        return f"stuck:{stall}"
    return "first_failure" if threshold is Threshold.FIRST_FAILURE else threshold.removesuffix("%")
