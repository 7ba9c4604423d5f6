"""Charges requests to the rates of their tenant: one conditional update each, where the quota is set."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fanin.errors import QuotaExceeded, StoreUnavailable
from fanin.quotas.bucket import BURST, Bucket
from fanin.quotas.model import SECOND, BucketKey, Quota, Spent
from fanin.quotas.store import QuotaStore

ATTEMPTS = 4
KNOWN_BUCKETS = 10_000
HELD_AT_LEAST = SECOND
"""After a refusal this process refuses without a request for as long as ``Retry-After`` says, a second at
least: so a tenant far over its quota does not exhaust the writes of its row either.
"""
HELD_AT_MOST = 10 * SECOND
DEBT = {Quota.READS: 600 * SECOND}
"""What a request reads is known once it has read: its tenant then waits for ten minutes at most."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """What this process last saw of a bucket, and until when it refuses without a request."""

    full_at: int = 0
    held_until: int = 0


UNKNOWN = Known()


def microseconds(now: datetime) -> int:
    """Return *now* in whole microseconds since 1970."""
    return (now - EPOCH) // timedelta(microseconds=1)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Rates:
    """The rates of all tenants, each with the same *limits*; a quota without one is not limited.

    *draw*: returns a random number below its argument.
    """

    store: QuotaStore
    limits: Mapping[Quota, int]
    now: Callable[[], datetime] = _now
    draw: Callable[[int], int] = random.randrange
    _known: dict[BucketKey, Known] = field(default_factory=dict)

    def charge(self, tenant: str, quota: Quota, units: int = 1) -> None:
        """Charge *units* to a quota of the tenant. Raises QuotaExceeded, and StoreUnavailable."""
        limit = self.limits.get(quota, 0)
        if not limit or not units:
            return
        bucket, at = Bucket(limit, DEBT.get(quota, 0)), microseconds(self.now())
        key = BucketKey(tenant, quota, self.draw(bucket.shards))
        known = self._known.get(key, UNKNOWN)
        if at < known.held_until <= at + HELD_AT_MOST:
            raise _refused(key, bucket, known.full_at, at, known.held_until - at)
        spent = self._spent(key, bucket, known.full_at, at, bucket.cost(units))
        wait = 0 if spent.applied else max(bucket.wait(spent.full_at, at), HELD_AT_LEAST)
        self._remember(key, Known(spent.full_at, at + min(wait, HELD_AT_MOST)))
        if not spent.applied:
            raise _refused(key, bucket, spent.full_at, at, wait)

    def owe(self, tenant: str, quota: Quota, units: int) -> None:
        """Charge *units* that a request has used before it pays: the next ones wait for them.

        What exceeds the debt of ``DEBT``, or cannot be stored, is forgiven.
        """
        limit, debt = self.limits.get(quota, 0), DEBT.get(quota, 0)
        if not limit or units <= 0:
            return
        bucket, at = Bucket(limit, debt), microseconds(self.now())
        key, cost = BucketKey(tenant, quota, self.draw(bucket.shards)), min(bucket.cost(units), debt)
        known = self._known.get(key, UNKNOWN)
        full_at = known.full_at
        for _ in range(ATTEMPTS):
            try:
                if full_at <= at:
                    spent = self.store.start(key, at, at + cost)
                else:
                    spent = self.store.spend(key, at, cost, at + BURST + debt - cost)
            except StoreUnavailable:
                return
            full_at = spent.full_at
            self._remember(key, Known(full_at, known.held_until))
            if spent.applied:
                return

    def _spent(self, key: BucketKey, bucket: Bucket, full_at: int, at: int, cost: int) -> Spent:
        """Return the bucket after the charge; it is not applied where the bucket has no token."""
        for _ in range(ATTEMPTS):
            if bucket.is_impossible(full_at, at):
                spent = self.store.correct(key, full_at, at + cost)
            elif full_at <= at:
                spent = self.store.start(key, at, at + cost)
            else:
                spent = self.store.spend(key, at, cost, at + BURST)
            full_at = spent.full_at
            is_empty = bucket.refuses(full_at, at) and not bucket.is_impossible(full_at, at)
            if spent.applied or is_empty:
                return spent
        raise StoreUnavailable("too many concurrent requests of this tenant; repeat the request")

    def _remember(self, key: BucketKey, known: Known) -> None:
        if len(self._known) >= KNOWN_BUCKETS:
            self._known.clear()
        self._known[key] = known


def _refused(key: BucketKey, bucket: Bucket, full_at: int, at: int, wait: int) -> QuotaExceeded:
    used = max(bucket.used(full_at, at), bucket.limit)
    seconds = -(-wait // SECOND)
    return QuotaExceeded(
        f"the quota {key.quota} of this tenant is {bucket.limit} a second, and {used} a second are used;"
        f" repeat the request after {seconds} s",
        quota=key.quota,
        limit=bucket.limit,
        used=used,
        retry_after=seconds,
    )
