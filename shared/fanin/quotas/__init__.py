"""Quotas of a tenant: open batches; adds, tasks and jobs a second. A quota that is not set costs nothing.

The promise: a tenant has at most its number of live batches, and on average its rates. A request that is
repeated after a lost answer may be charged twice, against the tenant; no crash leaks a permit.

A permit: free -> held by a batch -> free once that batch has ended. A bucket has a time at which it is full.

Read in this order: ``model.py``: quotas and their rows. ``bucket.py``, ``rates.py``: rates. ``permits.py``:
live batches. ``queues.py``: work queues. ``store.py``: the port; ``dynamodb/`` and ``memory.py`` keep it.
"""

from fanin.quotas.model import Quota, limits_of
from fanin.quotas.permits import Permits
from fanin.quotas.rates import Rates

__all__ = ["Permits", "Quota", "Rates", "limits_of"]
