"""A tenant's batches, newest first, a page at a time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from fanin.tracker.model import SHARDS, Batch, Query, State
from fanin.tracker.store import TrackerStore

Place = tuple[datetime, str]
"""Where a list goes on: after the batch that was opened then, under that id."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list; *resume* is None at its end. A page may be short, or empty, and not be the last."""

    batches: tuple[Batch, ...]
    resume: Place | None


@dataclass(frozen=True, slots=True)
class ListWish:
    """Which batches to list: those of a user key or all, in one state or in any, after a place."""

    user_key: str | None = None
    state: State | None = None
    limit: int = 50
    after: Place | None = None


def listing(store: TrackerStore, tenant: str, wish: ListWish, now: datetime) -> Listing:
    """One page of the tenant's list; what has expired is left out."""
    shards = range(SHARDS) if wish.user_key is None else range(1)
    queries = [Query(tenant, wish.user_key, shard, wish.state, wish.limit, wish.after) for shard in shards]
    newest_first = heapq.merge(*(store.listing(query) for query in queries), key=_place, reverse=True)
    found = list(islice(newest_first, wish.limit))
    resume = _place(found[-1]) if len(found) == wish.limit else None
    seen = (batch for batch in found if batch.state is not State.EXPIRED and batch.expires_at > now)
    return Listing(tuple(seen), resume)


def _place(batch: Batch) -> Place:
    return batch.created_at, batch.batch_id
