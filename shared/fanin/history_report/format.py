"""Formats numbers, times and durations for people. Pure."""

from __future__ import annotations

from datetime import datetime

NONE = "\u2013"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def number(value: float | None) -> str:
    """Return 1,234,567."""
    return NONE if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Return 12.3 %; a share between 0 and 1 never prints as 0 % or 100 %."""
    if share is None:
        return NONE
    if 0 < share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def seconds(value: float | None) -> str:
    """Return 850 ms, 4.2 s, 2 min 5 s, 1 h 2 min, 3 d 4 h."""
    if value is None:
        return NONE
    if value < 0.9995:
        return f"{1000 * value:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s".replace(".0 s", " s")
    whole = round(value)
    at = next(place for place, (size, _) in enumerate(_UNITS) if whole >= size)
    (large, name), (small, other) = _UNITS[at], _UNITS[at + 1]
    smaller = whole % large // small
    return f"{whole // large} {name}" + (f" {smaller} {other}" if smaller else "")


def whole_seconds(value: float | None) -> str:
    """Return a duration like `seconds`, for times in whole seconds: 0 prints as under 1 s."""
    return "under 1 s" if value is not None and value <= 0 else seconds(value)


def moment(at: datetime | None) -> str:
    """Return 2026-03-01 12:00:05."""
    return NONE if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def batches(value: int) -> str:
    """Return *value* with its noun: 1 batch, 2 batches."""
    return count(value, "batch", "batches")


def state(name: str) -> str:
    """Return the name of a state for people: timed out."""
    return name.lower().replace("_", " ")


def rate(value: float) -> str:
    """Return a number a second: 63 or 0.4."""
    return number(value) if value >= 10 else f"{value:.1f}".removesuffix(".0")


def count(value: int, one: str, many: str | None = None) -> str:
    """Return *value* with its noun: 1 item, 2 items."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"
