"""The token bucket of a rate, as one number: the time at which the bucket is full again. Pure.

A request that uses *n* units puts this time off by the time in which *n* units flow in. The bucket has
tokens while the time is less than ``BURST`` ahead. A request is admitted if there is a token, and pays for
all of its units: what exceeds the bucket is a debt, for which the next requests wait. So the rate holds for
requests of any size, in one conditional update without a read.
"""

from __future__ import annotations

from dataclasses import dataclass

from fanin.quotas.model import SECOND

BURST_SECONDS = 2
"""A bucket holds what flows in within this time."""
BURST = BURST_SECONDS * SECOND
UNITS_MAX = 1000
"""The most units of one request: the jobs of an add."""
RATE_A_SHARD = 250
"""Units a second of one row. DynamoDB writes 1,000 small rows a second under one key, and a request whose
condition fails counts too: an admitted request takes at most two, and a refused one is followed by a pause.
"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The bucket of one row: a tenant's limit of *limit* units a second is divided among *shards* rows.

    *debt*: the most time that requests which pay after they were answered put the bucket off by.
    """

    limit: int
    debt: int = 0

    @property
    def shards(self) -> int:
        """Return the number of rows among which the limit is divided."""
        return -(-self.limit // RATE_A_SHARD)

    def cost(self, units: int) -> int:
        """Return the time in which *units* flow into one row."""
        return -(-units * SECOND * self.shards // self.limit)

    def refuses(self, full_at: int, at: int) -> bool:
        """Return whether the bucket has no token at the time *at*."""
        return full_at >= at + BURST

    def wait(self, full_at: int, at: int) -> int:
        """Return how long a bucket without a token has none."""
        return full_at - BURST - at + 1

    def used(self, full_at: int, at: int) -> int:
        """Return the units a second of the last seconds, over all rows if each is used as this one."""
        return -(-(full_at - at) * self.limit // BURST)

    def is_impossible(self, full_at: int, at: int) -> bool:
        """Return whether no debt explains *full_at*: a clock that was ahead wrote it."""
        return full_at > at + BURST + max(self.debt, self.cost(UNITS_MAX))
