"""Durations as command lines write them, such as ``6h`` or ``1d12h``, and as terminals show them."""

from __future__ import annotations

from datetime import datetime, timedelta

from fanin import arguments
from fanin.cli.terminal.exits import UsageError
from fanin.errors import InvalidRequest

NAMES = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(text: str) -> timedelta:
    """Return the duration *text*: whole numbers with w, d, h, m or s. Raises UsageError."""
    try:
        return arguments.duration(text)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def time_of(text: str, now: datetime) -> datetime:
    """Return the time *text*: RFC 3339 with a time zone, or a duration before *now*. Raises UsageError."""
    try:
        if arguments.DURATION.fullmatch(text):
            return now - arguments.duration(text)
        time = datetime.fromisoformat(text)
    except (InvalidRequest, ValueError, OverflowError):
        time = None
    if time is None or time.tzinfo is None:
        raise UsageError(f"{text!r} is no time: write 2026-03-01T00:00:00Z, or 2d for two days ago")
    return time


def ago(then: datetime, now: datetime) -> str:
    """Return how long *then* is before *now*, or after it, in its largest unit."""
    seconds = round((now - then).total_seconds())
    name, size = next(((name, size) for name, size in NAMES if abs(seconds) >= size), NAMES[-1])
    length = f"{abs(seconds) // size} {name}"
    return f"{length} ago" if seconds >= 0 else f"in {length}"
