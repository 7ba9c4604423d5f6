"""What callers are told: the answers of the API as typed values, the same over every transport."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fanin.tracker import State, Verdict


@dataclass(frozen=True, slots=True)
class Status:
    """A batch as it stands.

    At least *acked* of its *total* items are done, at most *upper_bound*; *exact* where the two meet.
    *result* is ``succeeded`` or ``completed_with_failures`` once it is complete. Times are aware.
    """

    batch_id: str
    user_key: str | None
    mode: str
    state: State
    total: int
    acked: int
    failed: int
    upper_bound: int
    exact: bool
    result: str | None
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    completed_at: datetime | None = None

    @property
    def is_closed(self) -> bool:
        return self.state is not State.OPEN

    @property
    def is_complete(self) -> bool:
        return self.state is State.COMPLETE


@dataclass(frozen=True, slots=True)
class Closed:
    """The answer to close: *total* is final; *completed_by_you* where nothing was outstanding any more."""

    batch_id: str
    user_key: str | None
    state: State
    total: int
    completed_by_you: bool

    @property
    def is_complete(self) -> bool:
        return self.state is State.COMPLETE


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What became of one acked item."""

    item_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Completion:
    """A batch that these acks completed, now or when they were sent the first time."""

    batch_id: str
    user_key: str | None
    result: str | None


@dataclass(frozen=True, slots=True)
class AckReport:
    """The answer to ack: a verdict for each item, in the order of the items, and what they completed."""

    results: tuple[ItemVerdict, ...] = ()
    completions: tuple[Completion, ...] = ()

    def __add__(self, other: AckReport) -> AckReport:
        return AckReport(self.results + other.results, self.completions + other.completions)
