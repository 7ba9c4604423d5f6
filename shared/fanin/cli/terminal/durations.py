"""Durations as command lines write them, such as ``6h`` or ``1d12h``, and as terminals show them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from fanin.cli.terminal.exits import UsageError

UNITS = {"w": timedelta(weeks=1), "d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
UNITS |= {"s": timedelta(seconds=1)}
NAMES = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_FORM = re.compile(r"(?:\d{1,9}[wdhms])+")
_PART = re.compile(r"(\d+)([wdhms])")


def duration(text: str) -> timedelta:
    """Return the duration *text*: whole numbers with w, d, h, m or s. Raises UsageError."""
    if not _FORM.fullmatch(text):
        raise UsageError(f"{text!r} is not a duration: write 90s, 15m, 6h, 2d, or 1d12h")
    try:
        return sum((int(number) * UNITS[unit] for number, unit in _PART.findall(text)), timedelta())
    except OverflowError:
        raise UsageError(f"{text!r} is too long: the longest time is 400 days") from None


def time_of(text: str, now: datetime) -> datetime:
    """Return the time *text*: RFC 3339 with a time zone, or a duration before *now*. Raises UsageError."""
    try:
        if _FORM.fullmatch(text):
            return now - duration(text)
        time = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
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
