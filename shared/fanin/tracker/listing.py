"""A tenant's batches, newest first, a page at a time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter

from fanin.tracker.model import SHARDS, Place, Query, State
from fanin.tracker.store import Listing, TrackerStore


@dataclass(frozen=True, slots=True)
class ListWish:
    """Which batches to list: those of a user key or all, in one state or in any, after a place."""

    user_key: str | None = None
    state: State | None = None
    limit: int = 50
    after: Place | None = None


def listing(store: TrackerStore, tenant: str, wish: ListWish, now: datetime) -> Listing:
    """One page of the tenant's list; what has expired is left out.

    It goes as far back as every shard was read: beyond that a shard may hold what is newer.
    """
    shards = range(SHARDS) if wish.user_key is None else range(1)
    queries = [Query(tenant, wish.user_key, shard, wish.state, wish.limit, wish.after) for shard in shards]
    parts = [store.listing(query) for query in queries]
    read_to = max((part.resume for part in parts if part.resume is not None), default=None)
    newest_first = heapq.merge(*(part.batches for part in parts), key=attrgetter("place"), reverse=True)
    known = (batch for batch in newest_first if read_to is None or batch.place >= read_to)
    found = list(islice(known, wish.limit + 1))
    resume = found[wish.limit - 1].place if len(found) > wish.limit else read_to
    page = found[: wish.limit]
    seen = (batch for batch in page if batch.state is not State.EXPIRED and batch.expires_at > now)
    return Listing(tuple(seen), resume)
