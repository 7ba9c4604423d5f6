"""Times as ISO 8601 text in UTC, with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: datetime) -> str:
    """Return *at* (aware) in the form ``2026-01-31T23:59:59.123Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def datetime_of(at: int) -> datetime:
    """Return *at*, in microseconds since 1970."""
    return EPOCH + timedelta(microseconds=at)


def instant(at: int) -> str:
    """Return *at*, in microseconds since 1970, in that form."""
    return iso(datetime_of(at))
