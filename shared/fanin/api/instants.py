"""Times as ISO 8601 text in UTC, with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(at: datetime) -> str:
    """Return *at* (aware) in the form ``2026-01-31T23:59:59.123Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
