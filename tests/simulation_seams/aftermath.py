"""When all is quiet: nothing is lost, everything has ended, and every parent has its child's result."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fanin.tracker import Batch, BatchKey, ItemId
from tests.simulating.violation import require
from tests.simulation_seams import repaired
from tests.simulation_seams.scenario import TENANT, WEBHOOK

SWEPT = timedelta(minutes=10)

if TYPE_CHECKING:
    from tests.simulation_seams.world import World


def check(world: World) -> None:
    """Hold every batch, message and owner against what must hold in the end."""
    for queue in world.queues:
        require(not queue.messages, "lost", lambda queue=queue: f"{queue.name} holds {queue.messages}")
    for key, stored in world.memory.batches.items():
        batch = world.referee.deleted.get(key, stored)
        require(not batch.is_alive, "liveness", f"{key} is {batch.state} for ever")
        confirmed = key in world.memory.confirmed
        require(confirmed, "events", f"{key} is {batch.state}, and its event is not confirmed")
        arrived = world.bus.arrived["confirm", f"{batch.batch_id}:{batch.state}"]
        require(arrived, "events", f"{key} is {batch.state}, and no event of that came")
        _check_waiting(world, batch)
        require(_parent_knows(world, batch), "parents", f"the parent of {key} was not reported to")
    _check_below(world)
    repaired.check(world)
    world.readers.check()
    for owner in world.outside.owners.values():
        require(owner.reported, "owners", f"{owner} has ended and was not reported")


def _check_below(world: World) -> None:
    """K: what is live below a batch that was cancelled with its children ends within a few sweeps."""
    state_since, batches = world.referee.state_since, world.memory.batches
    for key in (key for key, batch in batches.items() if batch.cancels_children):
        for child in (batches[each] for each in set().union(*world.referee.children[key].values())):
            late = state_since[child.key] - max(state_since[key], child.created_at)
            require(late < SWEPT, "cascade", f"{child.key} ended {late} after {key} with its children")


def _check_waiting(world: World, batch: Batch) -> None:
    """K: the callback of a batch has each of its events, and the task that waits for it has ended."""
    marks = [str(batch.state)]
    if batch.key not in world.referee.deleted:  # a report that comes after the delete has no event any more
        marks += [mark for key, mark in world.memory.reports if key == batch.key]
    for mark in marks if batch.callback else ():
        event_id = f"{batch.batch_id}:{mark}"
        arrived = world.bus.arrived[batch.callback or "", event_id]
        if batch.callback == WEBHOOK:
            arrived = world.webhook.arrived[event_id]
        require(arrived, "callbacks", f"{batch.callback} did not get {mark} of {batch.key}")
    if batch.resumes:
        require(world.workflows.is_over(batch.key), "resume", f"the task of {batch.key} waits for ever")


def _parent_knows(world: World, batch: Batch) -> bool:
    """Whether the parent's item is acked, or the parent has ended."""
    if batch.parent_item_id is None:
        return True
    parent = world.memory.batches[BatchKey(TENANT, ItemId.parse(batch.parent_item_id).batch_id)]
    item = world.outside.item(batch.parent_item_id)
    return not parent.is_alive or world.referee.is_set(item)
