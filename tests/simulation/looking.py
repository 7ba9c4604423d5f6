"""What may be asked of a batch at any moment, held against what has really been acked and has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fanin.errors import NotFound
from fanin.tracker import Batch, GroupId, Mode, Outcome, Slice, State, Tracker
from fanin.tracker.rules.lifecycle import CHECK_AT_MOST_EVERY
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.tree import capacity
from tests.simulating.violation import Violation, require
from tests.simulation import batch_lists, maps
from tests.simulation.ledger import Ledger
from tests.simulation.scenario import PAGES_A_LEVEL, TENANT

if TYPE_CHECKING:
    from tests.simulation.world import World

PARTS_MAX = 500


def check(world: World, ledger: Ledger) -> None:
    """Between two steps: progress, what is outstanding and what failed are right, and a look is planned."""
    batch, referee = world.memory.batches[ledger.key], world.referee
    if not world.scenario.is_basic:
        check_next_check(world, batch)
    if world.scenario.slow and not batch.is_alive and batch.expires_at <= world.at:
        return  # no reader sees it, and its pages may be deleted
    _check_progress(world, batch)
    if batch.mode is Mode.ESTIMATED:
        return
    tracker = world.trackers[0]
    maps.check(world, tracker, batch)
    batch_lists.check(world, tracker, ledger)
    _check_window(world, tracker, ledger, batch)
    missing, failed = _lists(world, tracker, batch)
    truth = (1 << batch.total) - 1 & ~referee.landed[batch.key]
    require(missing == truth, "outstanding", f"{missing:b} are listed, {truth:b} are outstanding")
    truth = referee.failed[batch.key]
    require(failed == truth, "failures", f"{failed:b} are listed, {truth:b} failed")


def read(world: World, tracker: Tracker, ledger: Ledger) -> None:
    """While others go on: nothing is listed that was otherwise all the time, and nothing left out."""
    referee, key = world.referee, ledger.key
    landed, failed, ever = referee.landed[key], referee.failed[key], referee.has_failed[key]
    try:
        batch = tracker.get(TENANT, key.batch_id)
    except NotFound:
        world.check_gone(key)
        return
    batch_lists.read(tracker, ledger)
    if batch.mode is Mode.ESTIMATED:
        tracker.progress(batch)
        return
    maps.read(world, tracker, batch)
    missing, broken = _lists(world, tracker, batch)
    items = (1 << batch.total) - 1
    right = not missing & landed and missing & items >= items & ~referee.landed[key] & missing
    left_out = items & ~referee.landed[key] & ~missing
    require(right and not left_out, "outstanding", f"{missing:b} are listed, {left_out:b} were left out")
    newly = referee.has_failed[key] & ~ever
    left_out = failed & referee.failed[key] & ~broken & items
    require(not broken & ~(failed | newly), "failures", f"{broken:b} are listed, {failed:b} failed")
    require(not left_out, "failures", f"{left_out:b} failed and were left out")
    check_samples(world, tracker, batch)


def check_next_check(world: World, batch: Batch) -> None:
    """No batch is forgotten: whatever may need the sweeper has a time at which it looks."""
    latest = world.at + CHECK_AT_MOST_EVERY + world.scenario.skew
    due = batch.next_check_at
    if batch.is_alive:
        ends = [at for at in (batch.expires_at, batch.deadline_at) if at is not None]
        require(due is not None and due <= min(ends), "sweep", f"{batch.key} ends at {ends}, look at {due}")
    if batch.state is State.CLOSED or (not batch.is_alive and batch.key not in world.memory.confirmed):
        planned = due is not None and due <= latest
        require(
            planned, "sweep", f"{batch.key} is {batch.state}, it is {world.at}, the next look is at {due}"
        )
    if due is None:
        notified = parent_knows(world, batch) or _sibling_is_due(world, batch)
        require(notified, "parents", f"{batch.key} is forgotten, its parent was not notified")


def parent_knows(world: World, batch: Batch) -> bool:
    """Whether the item of a batch that has ended is acked as its children ended, or no ack is of any use."""
    if batch.is_alive or batch.parent_item_id is None:
        return True
    referee = world.referee
    parent, item = referee.item_of(batch.tenant, batch.parent_item_id)
    above, outcome = world.memory.batches[parent], referee.outcome_of(parent, item)
    if outcome is None or not above.is_alive or world.is_past(above.expires_at):
        return True
    healed = outcome is Outcome.FAILURE or not referee.failed[parent] >> item & 1
    return healed and bool(referee.landed[parent] >> item & 1)


def _sibling_is_due(world: World, batch: Batch) -> bool:
    """Whether the sweeper looks at another child of the item, which may have been the last to end."""
    parent, item = world.referee.item_of(batch.tenant, batch.parent_item_id or "")
    children = world.referee.children[parent][item]
    return any(world.memory.batches[key].next_check_at is not None for key in children)


def _check_window(world: World, tracker: Tracker, ledger: Ledger, batch: Batch) -> None:
    """A window of a group shows what is outstanding and what failed of it."""
    if not ledger.messages:
        return
    message = world.random.choice(ledger.messages)
    window = tracker.window(batch, message.group_id, message.first, message.last)
    low, items = message.start + message.first, (1 << message.ack.size) - 1
    landed, failed = (bits[batch.key] >> low & items for bits in (world.referee.landed, world.referee.failed))
    right = window.outstanding == items & ~landed and window.failed == failed
    require(right, "window", f"{message}: {window}, {landed:b} are acked and {failed:b} failed")


def _check_progress(world: World, batch: Batch) -> None:
    """What is surely done was acked, and no more was than may be."""
    seen = world.trackers[0].progress(batch)
    require(seen.acked <= seen.estimate <= seen.upper_bound, "progress", f"{batch.key}: {seen}")
    acked = world.referee.landed[batch.key].bit_count()
    if batch.mode is Mode.ESTIMATED:
        counted = world.referee.counted.items()
        own = [(key, count) for key, count in counted if key.batch == batch.key]
        acked = sum(min(count, _items(batch, key)) for key, count in own)
        over = batch.state is State.COMPLETE and batch.reached is None
        right = seen.acked <= (batch.total if over else acked) and acked <= seen.upper_bound
        require(right, "progress", f"{acked} of {batch.key} are counted: {seen}")
        return
    right = seen.acked <= acked <= seen.upper_bound
    require(right, "progress", f"{acked} of {batch.key} are acked: {seen}")
    require(seen.exact == (seen.acked == seen.upper_bound), "progress", f"exact, or not: {seen}")
    whole = world.scenario.pages_a_level == PAGES_A_LEVEL and batch.total <= PAGES_A_LEVEL * batch.shape.leaf
    require(seen.exact or not whole, "progress", f"{batch.key} has few pages: {seen}")


def _items(batch: Batch, key: PageKey) -> int:
    return capacity(key.level, key.number, batch.total, batch.shape)


def _lists(world: World, tracker: Tracker, batch: Batch) -> tuple[int, int]:
    """All that is listed as outstanding and as failed, as bits."""
    limit = world.random.choice((1, 3, 1000))
    return _listed(tracker.outstanding, batch, limit), _listed(tracker.failures, batch, limit)


def _listed(ask: Callable[[Batch, int, int], Slice], batch: Batch, limit: int) -> int:
    found, start = 0, 0
    for _ in range(PARTS_MAX):
        part = ask(batch, start, limit)
        require(len(part.ranges) <= limit, "lists", f"{limit} were wanted: {part}")
        for one in part.ranges:
            group = GroupId.decode(one.group_id)
            genuine = group is not None and one.last < group.upto
            require(genuine, "lists", f"{one} is no range of a group")
            found |= (1 << one.last - one.first + 1) - 1 << (group.start if group else 0) + one.first
        if part.resume is None:
            return found
        require(part.resume > start, "lists", f"after {start} the list goes on at {part.resume}")
        start = part.resume
    raise Violation("lists", f"a list of {batch.total} items has no end")


def check_samples(world: World, tracker: Tracker, batch: Batch) -> None:
    """Reasons are shown of what has failed, and of nothing that was healed before the call."""
    failed, ever = world.referee.failed[batch.key], world.referee.has_failed[batch.key]
    shown = tracker.samples(batch)
    newly = world.referee.has_failed[batch.key] & ~ever
    for sample in shown:
        batch_id, group_id, index = sample.item_id.split(":")
        group = GroupId.decode(group_id)
        place = (group.start if group else 0) + int(index)
        right = batch_id == batch.batch_id and (failed | newly) >> place & 1
        require(right, "failures", f"{sample} is of an item that has not failed, or was healed")
