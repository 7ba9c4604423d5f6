"""A store of quotas in memory, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from fanin.quotas.model import BucketKey, Permit, PermitKey, Spent


@dataclass(slots=True)
class MemoryQuotas:
    """Keeps buckets and permits in dictionaries; each call is atomic."""

    buckets: dict[BucketKey, int] = field(default_factory=dict)
    permits: dict[PermitKey, Permit] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def start(self, key: BucketKey, at: int, full_at: int) -> Spent:
        with self._lock:
            stored = self.buckets.get(key, 0)
            return self._written(key, full_at if stored <= at else None)

    def spend(self, key: BucketKey, at: int, cost: int, before: int) -> Spent:
        with self._lock:
            stored = self.buckets.get(key, 0)
            return self._written(key, stored + cost if at < stored < before else None)

    def correct(self, key: BucketKey, seen: int, full_at: int) -> Spent:
        with self._lock:
            return self._written(key, full_at if self.buckets.get(key, 0) == seen else None)

    def permit(self, key: PermitKey) -> Permit | None:
        return self.permits.get(key)

    def take(self, key: PermitKey, seen: str | None, permit: Permit) -> Permit:
        with self._lock:
            stored = self.permits.get(key)
            if (stored and stored.batch_id) == seen:
                self.permits[key] = permit
            return self.permits[key]

    def _written(self, key: BucketKey, full_at: int | None) -> Spent:
        if full_at is not None:
            self.buckets[key] = full_at
        return Spent(self.buckets.get(key, 0), applied=full_at is not None)
