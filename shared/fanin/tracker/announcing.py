"""A store that reports each batch whose completion this process has just decided.

The decision is the transition to COMPLETE, by an ack, a close, a sweep or a child that ended: each of them
asks the store for it. What follows is the caller's: see ``fanin.completion_events.announcer``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Batch, BatchKey, State
from fanin.tracker.store import TrackerStore

PRECISION = timedelta(milliseconds=1)
"""Of the times in a row: a stored time is that of the transition, rounded down."""


def is_decided(stored: Batch, change: Transition) -> bool:
    """Whether *change* completed the batch that is *stored*, with this request or a lost copy of it.

    A later request of the same caller has a later time, so it does not decide again.
    """
    if change.to is not State.COMPLETE or stored.completed_at is None:
        return False
    since = change.at - stored.completed_at
    return stored.completed_by == change.caller and timedelta(0) <= since < PRECISION


def announcing(store: TrackerStore, announce: Callable[[Batch], None]) -> TrackerStore:
    """Return *store*, which calls *announce* with each batch as its completion is stored."""
    return cast("TrackerStore", _Announcing(store, announce))


@dataclass(frozen=True, slots=True)
class _Announcing:
    """Forwards every call but transitions."""

    store: TrackerStore
    announce: Callable[[Batch], None]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a copy or a pickle asks for names that no store has
            raise AttributeError(name)
        return getattr(self.store, name)

    def transition(self, key: BatchKey, change: Transition) -> Batch | None:
        stored = self.store.transition(key, change)
        if stored is not None and is_decided(stored, change):
            self.announce(stored)
        return stored
