"""Quotas of a tenant: open batches; adds, tasks and jobs a second. A quota that is not set costs nothing."""

from fanin.quotas.model import Quota, limits_of
from fanin.quotas.places import Places
from fanin.quotas.rates import Rates

__all__ = ["Places", "Quota", "Rates", "limits_of"]
