"""What the contract of the tracker's stores says to them, in short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.tracker import Batch, BatchKey, Group, State, TrackerStore
from fanin.tracker.lifecycle import Turn
from fanin.tracker.model import PageKey, Receipt

NOW = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")
LEAF = PageKey(KEY, 0, 3)
ENDINGS = [
    Turn(State.CANCELLED, NOW, LATER, LATER, reason="no longer wanted"),
    Turn(State.COMPLETE, NOW, LATER, LATER, caller="me", failures=0),
    Turn(State.TIMED_OUT, NOW, LATER, LATER, reason="deadline"),
    Turn(State.EXPIRED, NOW, LATER, LATER),
]


def receipt(start: int, count: int, key: str = "k") -> Receipt:
    return Receipt(key, start, count)


def reserve(store: TrackerStore, seen: Batch, wanted: Receipt) -> Receipt | None:
    return store.reserve(seen, wanted, Group("g", wanted.count))


def close(store: TrackerStore, at: datetime = NOW) -> Batch | None:
    return store.turn(KEY, Turn(State.CLOSED, at, LATER, LATER, expected=True))


def complete(store: TrackerStore, caller: str, at: datetime = NOW) -> Batch | None:
    return store.turn(KEY, Turn(State.COMPLETE, at, LATER, LATER, caller=caller))
