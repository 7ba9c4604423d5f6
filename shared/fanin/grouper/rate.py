"""A token bucket in one number: the moment at which the bucket would be full again (GCRA)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from fanin.grouper.policy import Policy


@dataclass(frozen=True, slots=True)
class Token:
    """*full_at*: the bucket after taking a token; *wait*: how long until there is one, 0 if there is now."""

    full_at: datetime
    wait: timedelta


def token(full_at: datetime | None, policy: Policy, now: datetime) -> Token:
    """Take a token out of the bucket that is full at *full_at*; a bucket nobody used is full."""
    interval = timedelta(seconds=1 / policy.rate) if policy.rate else timedelta()
    start = max(full_at or now, now)
    wait = start - now - interval * (policy.burst - 1)
    return Token(start + interval, max(wait, timedelta()))
