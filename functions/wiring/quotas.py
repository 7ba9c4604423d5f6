"""The quotas of this deployment; a function loads them only where its settings have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from fanin.pacing import each_in_threads
from functions.wiring import metered
from functions.wiring.consuming import settings
from functions.wiring.deployed import settings_file

if TYPE_CHECKING:
    from fanin.quotas import Permits, Quota, Rates
    from fanin.quotas.dynamodb import DynamoQuotas
    from fanin.tracker import Batch, TrackerStore


def charge(tenant: str, name: str, units: int = 1) -> None:
    """Charge *units* to the quota *name* of a tenant, where it has a limit. Raises QuotaExceeded."""
    if name in settings_file().quotas:
        rates, quota = _rates(name)
        rates.charge(tenant, quota, units)


def owe(tenant: str, name: str, units: int) -> None:
    """Charge *units* that were used already, where the quota *name* has a limit; never refuses."""
    if name in settings_file().quotas:
        rates, quota = _rates(name)
        rates.owe(tenant, quota, units)


def admit_queue(tenant: str, names: Callable[[str, int], Sequence[object]]) -> None:
    """Admit one more work queue of a tenant, where their number has a limit. Raises QuotaExceeded.

    *names*: returns the first queues of a tenant, at most so many.
    """
    if limit := settings_file().quotas.get("queues", 0):
        from fanin.quotas.queues import Queues  # noqa: PLC0415  # see _rates

        Queues(names, limit).admit(tenant)


def permits_in(store: TrackerStore) -> Permits | None:
    """Return the permits for the live batches of *store*; None where their number is not limited."""
    limit = settings_file().quotas.get("openBatches", 0)
    if not limit:
        return None
    from fanin.quotas import Permits  # noqa: PLC0415  # see _rates
    from fanin.tracker.rules.model import BatchKey  # noqa: PLC0415  # see _rates

    def is_alive(tenant: str, batch_id: str) -> bool | None:
        found: Batch | None = store.get(BatchKey(tenant, batch_id))
        return None if found is None else found.is_alive

    return Permits(_store(), limit, is_alive, each=each_in_threads)


@lru_cache(maxsize=4)
def _rates(name: str) -> tuple[Rates, Quota]:
    from fanin.quotas import Quota, Rates, limits_of  # noqa: PLC0415  # most deployments have no quota

    return Rates(_store(), limits_of(settings_file().quotas)), Quota(name)


@lru_cache(maxsize=1)
def _store() -> DynamoQuotas:
    from fanin.quotas.dynamodb import DynamoQuotas  # noqa: PLC0415  # see _rates

    return DynamoQuotas(metered.dynamodb(), settings().tables.batches)
