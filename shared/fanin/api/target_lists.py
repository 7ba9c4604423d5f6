"""Lists a target's tasks and bundles, page by page through its shards."""

from __future__ import annotations

from fanin.api.cursors import target_cursors
from fanin.api.cursors.list_cursors import Term
from fanin.grouper import Bundle, BundleState, Grouper, Status
from fanin.grouper.listing import Listed


def tasks(
    grouper: Grouper, tenant: str, target: str, state: Status, limit: int, cursor: str | None
) -> tuple[list[Listed], str | None]:
    """Return tasks of a target in *state*, and the cursor of the next page."""
    listed = grouper.tasks(tenant, target)
    if state is Status.CREATED:
        waiting, resume = listed.waiting(limit, target_cursors.waiting_at(cursor))
        return waiting, target_cursors.of_waiting(resume)
    bundled, following = listed.bundled(state, limit, target_cursors.bundled_at(cursor))
    return bundled, target_cursors.of_bundled(following)


def bundles(
    grouper: Grouper, tenant: str, target: str, state: BundleState | None, limit: int, start: Term
) -> tuple[list[Bundle], Term | None]:
    """Return the bundles from *start* on and where the next page begins; of *limit*, those in *state*.

    The index gives the keys; the bundles are read from the table.
    """
    shard, fence = start
    page = grouper.bundles(tenant, target, shard, limit, None if fence is None else str(fence))
    found = grouper.bundles_at(page.rows)
    listed = [bundle for bundle in found if state in (None, bundle.state)]
    if page.cursor is not None:
        return listed, (shard, int(page.cursor))
    more = shard + 1 < grouper.world.policies.of(target).shards
    return listed, (shard + 1, None) if more else None
