"""Limits how many things of a kind a tenant has, by the index that lists them: its work queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fanin.errors import QuotaExceeded
from fanin.quotas.model import Quota

Names = Callable[[str, int], Sequence[object]]
"""Returns the first queues of a tenant: at most so many."""


@dataclass(frozen=True, slots=True)
class Queues:
    """The quota of work queues, *limit* for each tenant.

    The index is eventually consistent: queues that are created within the same second may exceed the limit.
    """

    names: Names
    limit: int

    def admit(self, tenant: str) -> None:
        """Admit one more queue of a tenant, or raise QuotaExceeded."""
        used = len(self.names(tenant, self.limit))
        if used >= self.limit:
            raise QuotaExceeded(
                f"the quota {Quota.QUEUES} of this tenant is {self.limit}, and it has as many work queues;"
                " remove one: a queue counts until its removal has ended, 35 minutes later",
                quota=Quota.QUEUES,
                limit=self.limit,
                used=used,
            )
