"""The warm throughput of tables: the request units a second that each takes at once, before any load.

The setting ``warm_throughput`` names tables by what they hold: ``pages=12000/40000``. The indexes of a table
get its units, because an index that takes fewer writes than its table throttles the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fanin_cdk.settings.restored import KINDS

LEAST_READS, LEAST_WRITES = 12_000, 4_000
"""What a new on-demand table has ("Understanding DynamoDB warm throughput in different scenarios")."""
MOST = 1_000_000
ENTRY = rf"({'|'.join(KINDS)})=[0-9]{{1,7}}/[0-9]{{1,7}}"


class Warm(NamedTuple):
    """Read and write units a second."""

    reads: int
    writes: int

    @property
    def is_possible(self) -> bool:
        """Whether a table can be set to it: no less than a new one has."""
        return LEAST_READS <= self.reads <= MOST and LEAST_WRITES <= self.writes <= MOST


def by_kind(entries: Iterable[str]) -> Mapping[str, Warm]:
    """Return the units of the setting's *entries*, which match ``ENTRY``, by what the tables hold."""
    pairs = (entry.split("=") for entry in entries)
    return {kind: Warm(*map(int, units.split("/"))) for kind, units in pairs}
