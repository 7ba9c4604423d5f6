"""A token bucket as one number: the time at which the bucket is full again (GCRA)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from fanin.grouper.settings.policy import Policy


@dataclass(frozen=True, slots=True)
class Token:
    """The result of taking a token.

    *full_at*: the bucket afterwards. *wait*: the time until a token is available, 0 if one is.
    """

    full_at: datetime
    wait: timedelta


def token(full_at: datetime | None, policy: Policy, now: datetime) -> Token:
    """Take a token from the bucket that is full at *full_at*; None: the bucket was never used and is full."""
    interval = timedelta(seconds=1 / policy.rate) if policy.rate else timedelta()
    start = max(full_at or now, now)
    wait = start - now - interval * (policy.burst - 1)
    return Token(start + interval, max(wait, timedelta()))
