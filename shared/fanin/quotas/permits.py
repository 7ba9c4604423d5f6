"""Counts the live batches of a tenant: each holds one of as many permits as the tenant may have batches.

Nothing releases a permit. It is free if the batch that took it has ended, which only the row of that batch
says; a batch that has ended stays so. So no crash, lost request or repetition can leak a permit, and the end
of a batch costs nothing. A permit is taken before its batch is stored. If the batch is never stored, the
permit is free again after ``STORED_WITHIN``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fanin.errors import QuotaExceeded
from fanin.pacing import Each, each_in_turn
from fanin.quotas.model import SECOND, Permit, PermitKey, Quota
from fanin.quotas.rates import microseconds
from fanin.quotas.store import QuotaStore

ROUNDS = (1, 4, 16, 64)
"""Permits that are looked at together, until one is free: 85 of them. A limit above 85 can refuse early, when
nearly all of its permits are taken: with 970 of 1000 taken, 7 of 100 opens.
"""
STORED_WITHIN = 60 * SECOND
"""A batch is stored this long after its permit was taken, or never: a request to the API ends after 30 s."""
REFUSES_FOR = SECOND
"""As long a process refuses a tenant without a request, after it found no permit."""
KNOWN_TENANTS = 10_000


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Permits:
    """The permits of all tenants, *limit* for each.

    *is_alive*: whether a batch of a tenant is live; None if it is not stored. *draw*: returns so many
    different numbers below a limit, at random.
    """

    store: QuotaStore
    limit: int
    is_alive: Callable[[str, str], bool | None]
    now: Callable[[], datetime] = _now
    draw: Callable[[range, int], Sequence[int]] = random.sample
    each: Each = each_in_turn
    _full: dict[str, int] = field(default_factory=dict)

    def admit(self, tenant: str, batch_id: str) -> None:
        """Take a permit for a batch that is about to be stored. Raises QuotaExceeded or StoreUnavailable."""
        at = microseconds(self.now())
        if at < self._full.get(tenant, 0) <= at + REFUSES_FOR or not self._has_taken(tenant, batch_id, at):
            raise self._refused(tenant, at)

    def _has_taken(self, tenant: str, batch_id: str, at: int) -> bool:
        for keys in self._rounds(tenant):
            seen = self.each(lambda key: self._seen(key, at), keys)
            for key, (permit, is_free) in zip(keys, seen, strict=True):
                before = permit.batch_id if permit else None
                if is_free and self._takes(key, before, Permit(batch_id, at)):
                    return True
        return False

    def _rounds(self, tenant: str) -> Iterator[list[PermitKey]]:
        """Yield the permits to look at, none of them twice."""
        drawn = list(self.draw(range(self.limit), min(self.limit, sum(ROUNDS))))
        for size in ROUNDS:
            numbers, drawn = drawn[:size], drawn[size:]
            if numbers:
                yield [PermitKey(tenant, number) for number in numbers]

    def _seen(self, key: PermitKey, at: int) -> tuple[Permit | None, bool]:
        """Return the permit, and whether it is free."""
        permit = self.store.permit(key)
        if permit is None:
            return None, True
        is_alive = self.is_alive(key.tenant, permit.batch_id)
        return permit, at - permit.taken_at >= STORED_WITHIN if is_alive is None else not is_alive

    def _takes(self, key: PermitKey, seen: str | None, permit: Permit) -> bool:
        return self.store.take(key, seen, permit).batch_id == permit.batch_id

    def _refused(self, tenant: str, at: int) -> QuotaExceeded:
        if len(self._full) >= KNOWN_TENANTS:
            self._full.clear()
        self._full.setdefault(tenant, 0)
        if self._full[tenant] <= at:
            self._full[tenant] = at + REFUSES_FOR
        return QuotaExceeded(
            f"the quota {Quota.OPEN_BATCHES} of this tenant is {self.limit}, and {self.limit} batches are"
            " live; wait until one ends, or cancel one",
            quota=Quota.OPEN_BATCHES,
            limit=self.limit,
            used=self.limit,
        )
