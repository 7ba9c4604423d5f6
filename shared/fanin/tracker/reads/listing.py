"""List a tenant's batches, newest first, a page at a time."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter

from fanin.pacing import Each, each_in_turn
from fanin.tracker.rules.filters import BatchFilter, Query, filter_of
from fanin.tracker.rules.model import SHARDS, Position, State
from fanin.tracker.store import Listing, TrackerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery(BatchFilter):
    """A page of a list: the batches that match the filter, at most *limit*, older than *after*."""

    limit: int = 50
    after: Position | None = None


def listing(
    store: TrackerStore, tenant: str, query: ListQuery, now: datetime, each: Each = each_in_turn
) -> Listing:
    """Return one page of the tenant's list, without batches that have expired."""
    page = newest(store, tenant, query, each)
    seen = (batch for batch in page.batches if batch.state is not State.EXPIRED and batch.expires_at > now)
    return Listing(tuple(seen), page.resume)


def newest(store: TrackerStore, tenant: str, query: ListQuery, each: Each = each_in_turn) -> Listing:
    """Return one page of the tenant's list, with batches that have expired.

    The page goes back only as far as every shard was read, because a shard may hold newer batches beyond
    that point.
    """
    wanted, limit = filter_of(query), query.limit
    shards = range(SHARDS) if query.user_key is None else range(1)
    queries = [
        Query(tenant=tenant, shard=shard, limit=limit, before=query.after, **wanted) for shard in shards
    ]
    parts = each(store.listing, queries)
    read_to = max((part.resume for part in parts if part.resume is not None), default=None)
    newest_first = heapq.merge(*(part.batches for part in parts), key=attrgetter("position"), reverse=True)
    known = (batch for batch in newest_first if read_to is None or batch.position >= read_to)
    found = list(islice(known, limit + 1))
    resume = found[limit - 1].position if len(found) > limit else read_to
    return Listing(tuple(found[:limit]), resume)
