"""What repairs leave: reopened batches of items of their origins, and deleted ones without user data."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fanin.errors import NotFound
from fanin.tracker import Ack, Batch, GroupId, ListQuery, Mode, Tracker, Verdict
from fanin.tracker.batch_changes.reopening import whole_group
from tests.simulating.violation import require
from tests.simulation_seams.scenario import TENANT

if TYPE_CHECKING:
    from tests.simulation_seams.world import World


def check(world: World) -> None:
    """Hold what was reopened and what was deleted against what the pages of repairs say."""
    tracker = Tracker(world.memory, fresh_for=timedelta(0), now=world.now)
    for key in world.referee.reopened - world.referee.deleted.keys():
        _check_origin(world, tracker, world.memory.batches[key])
    for before in world.referee.deleted.values():
        _check_deleted(world, tracker, before)
    deleted = {key for key in world.memory.batches if key in world.referee.deleted}
    listed = {one.key for one in tracker.list(TENANT, ListQuery(limit=100)).batches}
    require(not deleted & listed, "deletion", lambda: f"{deleted & listed} are deleted and listed")


def _check_origin(world: World, tracker: Tracker, batch: Batch) -> None:
    """R: a reopened batch has an item for each failed one of its origin, or for each that was not done."""
    try:
        found = tracker.origin(batch)
    except NotFound:
        return
    items = 0
    for part in found.ranges:
        group = GroupId.decode(part.group_id)
        items |= (1 << part.last - part.first + 1) - 1 << (group.start if group else 0) + part.first
    origin = next(key for key in world.memory.batches if key.batch_id == batch.origin_batch_id)
    failed = world.referee.failed[origin]
    right = items == failed or (batch.key in world.memory.origins and items & failed == failed)
    require(
        right and items.bit_count() == batch.total,
        "reopening",
        lambda: f"{batch} stands for {items:b} of {origin}, of which {failed:b} failed",
    )


def _check_deleted(world: World, tracker: Tracker, before: Batch) -> None:
    """D: a deleted batch is over for every reader, and holds nothing that a user gave."""
    row, key = world.memory.batches[before.key], before.key
    texts = (row.user_key, row.labels, row.callback, row.end_reason, row.parent_item_id, row.completed_by)
    require(not any(texts), "deletion", lambda: f"{row} is deleted")
    kept = [slot for slot in world.memory.kept if slot[0] == key]
    require(not kept, "deletion", lambda: f"{key} is deleted, and {kept} are kept")
    require(tracker.state_of(TENANT, key.batch_id) == "EXPIRED", "deletion", f"{key} is not over")
    if before.total and before.mode is Mode.EXACT:
        (result,) = tracker.ack(TENANT, [Ack(key.batch_id, whole_group(before).id, 0, 0, "late")]).results
        require(set(result.counts) == {Verdict.EXPIRED}, "deletion", f"{key} is deleted: {result}")
