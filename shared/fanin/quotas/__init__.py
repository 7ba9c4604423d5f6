"""Quotas of a tenant: open batches; adds, tasks and jobs a second. A quota that is not set costs nothing."""

from fanin.quotas.model import Quota, limits_of
from fanin.quotas.permits import Permits
from fanin.quotas.rates import Rates

__all__ = ["Permits", "Quota", "Rates", "limits_of"]
