"""When a request is sent again, and after how long. Pure: chance and the clock come in."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

UNANSWERED = 0
"""Stands for the status where no answer came: the request may have been carried out."""
# API Gateway answers 500 for a function that failed or timed out, 503 or 504 where it waited in vain, and 429
# where it throttles. A POST is safe to repeat after any of them, because it carries its idempotency key.
RETRIED = frozenset({UNANSWERED, 429, 500, 502, 503, 504})
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
    """What a ``Retry-After`` header asks for, in seconds or as a date; 0.0 for a malformed one.

    *now*: seconds since 1970. No header raises an error.
    """
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - now)
    except Exception:  # the parser of dates raises errors of many kinds, OverflowError among them
        return 0.0
