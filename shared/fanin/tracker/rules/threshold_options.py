"""Which thresholds of a live batch are reported, as its options name them: ``notify_at``, ``stuck_after``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

from fanin.errors import InvalidRequest

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
