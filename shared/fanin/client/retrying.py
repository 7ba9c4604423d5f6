"""When a request is sent again, and after how long. Pure: chance and the clock come in."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

UNANSWERED = 0
"""Stands for the status where no answer came: the request may have been carried out."""
RETRIED = frozenset({UNANSWERED, 429, 502, 503, 504})
FIRST_PAUSE_SECONDS = 0.1
DOUBLINGS = 6
PATIENCE_SECONDS = 30.0
"""A service that asks for more than this is reported, not waited for."""


def is_worth_it(status: int, retry_after: float) -> bool:
    """Whether the same request may fare better in a moment."""
    return status in RETRIED and retry_after <= PATIENCE_SECONDS


def pause_seconds(attempt: int, retry_after: float, draw: float) -> float:
    """The pause after attempt number *attempt* (from 0): never less than asked for, and jittered.

    *draw* is uniform in [0, 1): callers that failed together come back apart.
    """
    return retry_after + draw * FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, DOUBLINGS)


def retry_after_seconds(header: str, now: float) -> float:
    """What a ``Retry-After`` header asks for, in seconds or as a date; 0.0 where it says nothing we know.

    *now*: seconds since 1970.
    """
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)
