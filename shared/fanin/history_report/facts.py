"""The facts of the report: rows of tables, and figures derived from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]
"""A row of a table, by column."""

ENDED_WELL = "COMPLETE"
ALIVE = ("OPEN", "CLOSED")


@dataclass(frozen=True, slots=True)
class Shares:
    """Latencies of a batch's items in seconds, by how many items stay below, counted from *basis*."""

    basis: str
    items: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The number of values from *low* to *high*."""

    low: float
    high: float
    items: int


@dataclass(frozen=True, slots=True)
class Point:
    """Acks of one stretch of time, which begins *at* seconds after the batch's first ack."""

    at: float
    acked: int
    failed: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """Counts of an ack log: acks sent, and how many were of items acked before."""

    acks: int
    duplicates: int

    @property
    def rate(self) -> float:
        return self.duplicates / self.acks if self.acks else 0.0


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """One batch: its lifecycle, and the data of its section if it has one. Durations in seconds."""

    batch_id: str
    state: str
    tenant: str | None = None
    user_key: str | None = None
    parent_batch_id: str | None = None
    mode: str | None = None
    total: int | None = None
    acked: int = 0
    seen: int = 0
    failed: int = 0
    healed: int = 0
    outstanding: int | None = None
    max_failures: int | None = None
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    first_ack_at: datetime | None = None
    last_ack_at: datetime | None = None
    ended_at: datetime | None = None
    event_at: datetime | None = None
    end_reason: str | None = None
    notices: int = 0
    lasted: float | None = None
    acking: float | None = None
    decided_after: float | None = None
    reported_after: float | None = None
    reported_after_last_ack: float | None = None
    idle: float | None = None
    is_orphan: bool = False
    tail_at: datetime | None = None
    shares: Shares | None = None
    repeats: Repeats | None = None
    step: float = 1.0
    curve: Sequence[Point] = ()
    bars: Sequence[Bar] = ()
    stragglers: Sequence[Row] = ()
    reasons: Sequence[tuple[str, int]] = ()
    reasons_from_log: bool = False
    is_drawn: bool = False

    @property
    def is_alive(self) -> bool:
        return self.state in ALIVE

    @property
    def is_complete(self) -> bool:
        """Return whether all items were acked: a batch may end well with enough of them."""
        return self.state == ENDED_WELL and not self.outstanding

    @property
    def name(self) -> str:
        """Return the name shown for it."""
        return self.user_key or self.batch_id

    @property
    def unseen(self) -> int:
        """Return the counted acks that are not in the archive, which began later or lacks days."""
        return max(0, self.acked - self.seen)

    @property
    def tail(self) -> float | None:
        """Return the seconds that the last percent of the items took."""
        if self.tail_at is None or self.last_ack_at is None:
            return None
        return max(0.0, (self.last_ack_at - self.tail_at).total_seconds())


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the report shows. *batches*: those listed, of *known*; *sizes*: bundles by size.

    *completed*: batches whose items were all acked; *enough*: those that ended well before that.
    """

    archive: str
    since: datetime | None = None
    until: datetime | None = None
    known: int = 0
    ended: int = 0
    completed: int = 0
    orphans: int = 0
    items: int = 0
    failed: int = 0
    healed: int = 0
    repeats: Repeats | None = None
    batches: Sequence[BatchFacts] = ()
    targets: Sequence[Row] = ()
    sizes: Sequence[tuple[int, int]] = ()
    queues: Sequence[Row] = ()
    enough: int = 0
