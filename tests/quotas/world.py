"""A clock, batches that are live or not, and quotas over a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fanin.errors import QuotaExceeded
from fanin.quotas.memory import MemoryQuotas
from fanin.quotas.model import Quota
from fanin.quotas.permits import Permits
from fanin.quotas.rates import Rates
from fanin.quotas.store import QuotaStore

START = datetime(2026, 11, 22, 12, tzinfo=UTC)


@dataclass
class World:
    store: QuotaStore = field(default_factory=MemoryQuotas)
    at: datetime = START
    batches: dict[str, bool] = field(default_factory=dict)

    def now(self) -> datetime:
        return self.at

    def later(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def rates(self, ahead: float = 0, **limits: int) -> Rates:
        given = {Quota(name): limit for name, limit in limits.items()}
        return Rates(self.store, given, now=lambda: self.at + timedelta(seconds=ahead))

    def permits(self, limit: int) -> Permits:
        return Permits(self.store, limit, lambda _tenant, name: self.batches.get(name), now=self.now)

    def opened(self, permits: Permits, name: str, tenant: str = "acme") -> bool:
        """Open a batch if it is admitted."""
        if not admitted(permits.admit, tenant, name):
            return False
        self.batches[name] = True
        return True


def admitted(call: Callable[..., None], *given: object) -> bool:
    try:
        call(*given)
    except QuotaExceeded:
        return False
    return True
