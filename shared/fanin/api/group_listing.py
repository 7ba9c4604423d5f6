"""Lists a target's bundles, page by page through its shards."""

from __future__ import annotations

from fanin.api.cursors import Term
from fanin.grouper import Bundle, Grouper


def bundles(
    grouper: Grouper, tenant: str, target: str, limit: int, start: Term
) -> tuple[list[Bundle], Term | None]:
    """Return the bundles from *start* on and where the next page begins.

    The index gives the keys; the bundles are read from the table.
    """
    shard, fence = start
    page = grouper.bundles(tenant, target, shard, limit, None if fence is None else str(fence))
    listed = grouper.bundles_at(page.rows)
    if page.cursor is not None:
        return listed, (shard, int(page.cursor))
    more = shard + 1 < grouper.world.policies.of(target).shards
    return listed, (shard + 1, None) if more else None
