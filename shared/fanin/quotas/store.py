"""The port between the quotas and the store of their rows. Each call is one atomic request.

Every write is conditional, and returns what is stored afterwards. A request whose result is unknown raises
StoreUnavailable; one that is repeated after it was applied can spend twice, so it errs against the tenant, by
one request.
"""

from __future__ import annotations

from typing import Protocol

from fanin.quotas.model import BucketKey, Place, PlaceKey, Spent


class QuotaStore(Protocol):
    """The contract of a store; the contract suite checks every implementation."""

    def start(self, key: BucketKey, at: int, full_at: int) -> Spent:
        """Set when a bucket that is full at the time *at* is full again, else change nothing."""

    def spend(self, key: BucketKey, at: int, cost: int, before: int) -> Spent:
        """Put off by *cost* when the bucket is full, if that is after *at* and before *before*."""

    def correct(self, key: BucketKey, seen: int, full_at: int) -> Spent:
        """Replace the time *seen*, which a wrong clock wrote, else change nothing."""

    def place(self, key: PlaceKey) -> Place | None:
        """Return who took a place; None if nobody did yet."""

    def take(self, key: PlaceKey, seen: str | None, place: Place) -> Place:
        """Give the place to a batch if it is still that of the batch *seen*, None for nobody's.

        Returns the place as it is stored.
        """
