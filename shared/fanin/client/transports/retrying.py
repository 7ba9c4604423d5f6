"""Which requests are retried, and after which pause. Pure: random numbers and the time are arguments."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from fanin.client.http_bodies.exchange import UNANSWERED

# API Gateway answers 500 if the function failed or timed out, 503 or 504 if its integration timed out, and
# 429 if it throttles. A POST can be repeated after any of them, because it has an idempotency key.
RETRIED = frozenset({UNANSWERED, 429, 500, 502, 503, 504})
FIRST_PAUSE_SECONDS = 0.1
DOUBLINGS = 6
PATIENCE_SECONDS = 30.0
"""A longer ``Retry-After`` is not waited for; the error is raised."""


def is_worth_it(status: int, retry_after: float) -> bool:
    """Return whether to send the same request again."""
    return status in RETRIED and retry_after <= PATIENCE_SECONDS


def pause_seconds(attempt: int, retry_after: float, draw: float) -> float:
    """Return the pause after attempt *attempt* (from 0): at least *retry_after*, plus exponential jitter.

    *draw*: a random number in [0, 1), so that clients that failed together do not retry together.
    """
    return retry_after + draw * FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, DOUBLINGS)


def retry_after_seconds(header: str, now: float) -> float:
    """Return the seconds of a ``Retry-After`` header, a number or a date; 0.0 for a malformed one.

    *now*: seconds since 1970.
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
