"""The port between the quotas and the store of their rows. Each call is one atomic request.

Every write is conditional, and returns what is stored afterwards. A request whose result is unknown raises
StoreUnavailable; one that is repeated after it was applied can spend twice, so it errs against the tenant, by
one request.
"""

from __future__ import annotations

from typing import Protocol

from fanin.quotas.model import BucketKey, Permit, PermitKey, Spent


class QuotaStore(Protocol):
    """The contract of a store; the contract suite checks every implementation."""

    def start(self, key: BucketKey, at: int, full_at: int) -> Spent:
        """Set when a bucket that is full at the time *at* is full again, else change nothing."""

    def spend(self, key: BucketKey, at: int, cost: int, before: int) -> Spent:
        """Put off by *cost* when the bucket is full, if that is after *at* and before *before*."""

    def correct(self, key: BucketKey, seen: int, full_at: int) -> Spent:
        """Replace the time *seen*, which a wrong clock wrote, else change nothing."""

    def permit(self, key: PermitKey) -> Permit | None:
        """Return the permit as it was taken last; None if it never was."""

    def take(self, key: PermitKey, seen: str | None, permit: Permit) -> Permit:
        """Give the permit to a batch if it is still that of the batch *seen*; None: never taken.

        Returns the permit as it is stored.
        """
