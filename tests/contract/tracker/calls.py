"""What the contract of the tracker's stores says to them, in short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.tracker import Batch, BatchKey, Group, State, TrackerStore
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import PageKey, Receipt

NOW = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")
LEAF = PageKey(KEY, 0, 3)
ENDINGS = [
    Transition(State.CANCELLED, NOW, LATER, LATER, reason="no longer wanted"),
    Transition(State.FAILED, NOW, LATER, LATER, failures=0),
    Transition(State.TIMED_OUT, NOW, LATER, LATER, reason="deadline"),
    Transition(State.EXPIRED, NOW, LATER, LATER),
]


def receipt(start: int, count: int, key: str = "k") -> Receipt:
    return Receipt(key, start, count)


def reserve(store: TrackerStore, seen: Batch, wanted: Receipt) -> Receipt | None:
    return store.reserve(seen, wanted, Group("g", wanted.count))


def close(store: TrackerStore, at: datetime = NOW) -> Batch | None:
    return store.transition(KEY, Transition(State.CLOSED, at, LATER, LATER, expected=True))


def complete(store: TrackerStore, caller: str, at: datetime = NOW) -> Batch | None:
    return store.transition(KEY, Transition(State.COMPLETE, at, LATER, LATER, caller=caller))
