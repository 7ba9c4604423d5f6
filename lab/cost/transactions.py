"""The units of transactions that write to indexes, by both readings of what AWS documents.

A write of a transaction is billed twice. Whether its entries in secondary indexes are, no page says. The
writes are those of ``lab.scale_limits.streams``, which a test compares with what production sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fanin.cost.rules import TRANSACTION
from fanin.grouper.rules.model import BundleKey, Lane, TaskKey
from fanin.tracker.rules.model import BatchKey
from lab.scale_limits import streams

TENANT = "t"
TASKS = 10


@dataclass(frozen=True)
class Transaction:
    """Write units of a transaction by what it does, if entries in indexes are billed *once* and *twice*."""

    name: str
    once: float
    twice: float


def transactions() -> Iterator[Transaction]:
    """Yield the transactions that write to indexes."""
    batch = BatchKey(TENANT, "00000000-0000-4000-8000-000000000001")
    yield _both("items are added to a batch", streams.added(batch))
    yield _both("items of a page fail", streams.failed(batch, 0))
    lane = Lane(TENANT, "target", "0")
    tasks = [TaskKey(TENANT, str(number)) for number in range(TASKS)]
    _, claim, *_ = streams.bundled(tasks, lane, BundleKey(TENANT, "bundle"))
    yield _both(f"a bundle of {TASKS} tasks is claimed", claim)


def _both(name: str, units: streams.Units) -> Transaction:
    once = sum(units.values())
    of_indexes = sum(count for key, count in units.items() if "/" in key.place)
    return Transaction(name, once, once + (TRANSACTION - 1) * of_indexes)
