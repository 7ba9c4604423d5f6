"""After a run in which anything could happen: how all batches go on until they end.

Only the sweeper is still at work. First all that stands is judged, then one sweep must repair
whatever can be repaired, then time goes on until everything has ended and the bus has every event.
"""

from __future__ import annotations

from datetime import timedelta

from fanin.errors import BatchEnded
from fanin.tracker import Batch, BatchKey, Mode, State, Tracker, Verdict
from fanin.tracker.rules.lifecycle import CHECK_AFTER, CHECK_CHILD_AFTER
from tests.simulating.violation import require
from tests.simulation.answers import TOO_LATE
from tests.simulation.ledger import Ledger
from tests.simulation.looking import check_samples, parent_knows
from tests.simulation.scenario import PAGES_A_LEVEL, TENANT
from tests.simulation.world import World

ROUNDS_MAX = 300
ASKED_AGAIN = 3
COUNTED, MISSED = 40, timedelta(minutes=20)
"""Sweeps of a batch whose items are counted each minute, and what passes between those after them."""
SWEEPS_BELOW = 4
"""The levels of batches, and one."""
WITHOUT_SWEEPER = timedelta(days=4)
"""For how long no sweeper comes where batches live for months."""


def check(world: World) -> None:
    """Hold every batch against what must hold when all is quiet, after one sweep, and in the end."""
    world.look()
    ledgers = list(world.ledger_of.values())
    for ledger in ledgers:
        _check_quiet(world, ledger, world.memory.batches[ledger.key])
    for ledger in ledgers:
        _ask_again(world, ledger)
    _sweep_below(world)
    _sweep_once(world)
    _live_on(world)
    world.look()
    for key, batch in world.memory.batches.items():
        require(not batch.is_alive and key in world.memory.confirmed, "events", f"{key} is {batch.state}")
        require(parent_knows(world, batch), "parents", f"the parent of {key} was never notified")


def _check_quiet(world: World, ledger: Ledger, batch: Batch) -> None:
    phantom = batch.total - sum(add.count for add in ledger.added)
    require(phantom in ledger.phantoms(), "I8", f"{batch.total} reserved, {phantom} of them by no caller")
    _check_accepted(world, ledger, batch)
    if batch.state is not State.COMPLETE:
        require(
            not ledger.notified, "I3", f"{ledger.notified} were notified of a batch that is {batch.state}"
        )
    require(
        ledger.notified <= {batch.completed_by},
        "I3",
        f"{ledger.notified} was notified, not {batch.completed_by}",
    )
    check_samples(world, world.trackers[0], batch)
    if world.scenario.redelivered == 1.0:
        _check_redelivered(world, ledger, batch)


def _check_accepted(world: World, ledger: Ledger, batch: Batch) -> None:
    """An item is accepted once, and once more when it is healed; estimates count what was sent, no more."""
    referee, key = world.referee, batch.key
    if batch.mode is Mode.ESTIMATED:
        landed = sum(count for page, count in referee.counted.items() if page.batch == key)
        most = ledger.attempted + referee.repeats[key]
        require(landed <= most, "estimate", f"{landed} were counted, {most} were sent")
    else:
        children = sum(1 << item for item in referee.children[key])
        healed = referee.healed[key] - referee.healed_by_children[key]
        landed = (referee.landed[key] & ~children).bit_count() + healed
    right = ledger.accepted <= landed if world.store.faults else ledger.accepted == landed
    require(right, "I4", f"{landed} acks landed, {ledger.accepted} were answered as accepted")


def _check_redelivered(world: World, ledger: Ledger, batch: Batch) -> None:
    """I2, I3: redelivery alone brings every batch as far as it can come, and notifies its caller.

    Where a child has expired, or a sweeper crashed after it reported its end, the sweeper has to finish the
    parent; or its next child, where another one takes the place of one that failed; and an estimate that
    only a stray copy of an ack has filled, when all callers had gone.
    """
    referee = world.referee
    is_confirmed = batch.is_alive or (batch.state is State.COMPLETE and batch.reached is None)
    if is_confirmed and batch.mode is Mode.EXACT and world.is_ahead(batch.expires_at):
        sent = 0
        for message in ledger.messages:
            sent |= message.mask
        missing = sent & ~referee.landed[batch.key]
        require(not missing, "I2", f"{missing:b} of {batch.key} were sent and are not acked")
    children = [world.memory.batches[key] for keys in referee.children[batch.key].values() for key in keys]
    alone = not (world.scenario.sweepers and children) and not referee.repeats[batch.key]
    alone = alone and not any(child.is_alive for child in children)
    seen = all(world.is_ahead(one.expires_at) for one in (batch, *children))
    if alone and seen:
        stuck = _is_stuck(world, batch) or world.referee.has_enough_on_its_page(batch)
        require(not stuck, "I2", f"{batch.key} is {batch.state}, and nothing is missing")
    callers = {message.caller for message in ledger.messages} | set(ledger.script.closers)
    if batch.completed_by in callers and world.is_ahead(batch.expires_at):
        require(ledger.notified, "I3", f"{batch.completed_by} completed {batch.key} and was not notified")


def _is_stuck(world: World, batch: Batch) -> bool:
    """Whether nothing is missing for the batch's end but a caller that decides it."""
    all_acked = batch.state is State.CLOSED and world.referee.all_acked(batch)
    return batch.is_alive and (all_acked or world.referee.enough_failed(batch))


def _has_enough(world: World, batch: Batch) -> bool:
    """Whether enough of the batch has succeeded for a sweep that reads all of its pages."""
    whole = world.scenario.pages_a_level == PAGES_A_LEVEL
    return batch.is_alive and whole and world.referee.enough_succeeded(batch)


def _ask_again(world: World, ledger: Ledger) -> None:
    """What has ended says so to each caller, and changes no more."""
    batch = world.memory.batches[ledger.key]
    if batch.is_alive or batch.expires_at <= world.at or batch.state is State.EXPIRED:
        return
    tracker, before = _sweeper(world), _known(world, batch.key)
    for caller in sorted(set(ledger.script.closers)):
        notified = _is_notified(tracker, batch, caller)
        require(
            notified == (caller == batch.completed_by),
            "I3",
            f"{caller}, asked again, was notified {notified}",
        )
    named = [message for message in ledger.messages if message.caller == batch.completed_by]
    for message in [*named, *ledger.messages[:ASKED_AGAIN]]:
        report = tracker.ack(TENANT, [message.ack])
        known = (message.mask & world.referee.landed[batch.key]).bit_count()
        expected = {Verdict.DUPLICATE: known, TOO_LATE[batch.state]: message.ack.size - known}
        right = report.results[0].counts == {verdict: n for verdict, n in expected.items() if n}
        require(right, "verdicts", f"{message}, {batch.state}: {report.results[0].counts}")
        notified = bool(report.completions)
        right = notified == (batch.completed_by == message.caller)
        require(right, "I3", f"{message.caller}, asked again, was notified {notified}")
    try:
        right = tracker.cancel(TENANT, batch.batch_id) == batch and batch.state is State.CANCELLED
    except BatchEnded as refusal:
        right = refusal.state == batch.state is not State.CANCELLED
    require(right, "cancel", f"{batch.key}, which is {batch.state}, was cancelled again")
    require(_known(world, batch.key) == before, "end", f"{batch.key} changed when all was said again")


def _is_notified(tracker: Tracker, batch: Batch, caller: str) -> bool:
    """Return whether a close by *caller* is answered that it completed the batch; False if it is refused."""
    try:
        return tracker.close(TENANT, batch.batch_id, caller).completed_by_caller
    except BatchEnded:
        require(batch.state is not State.COMPLETE, "close", f"{batch.key} is complete, and was not closed")
        return False


def _known(world: World, key: BatchKey) -> tuple[Batch, dict[str, int]]:
    pages = world.memory.stored_pages.items()
    return world.memory.batches[key], {str(page): one.n for page, one in pages if page.batch == key}


def _sweep_once(world: World) -> None:
    """One sweep, at the time planned for the look, repairs and announces whatever needs it."""
    batches = list(world.memory.batches.values())
    stuck = [batch for batch in batches if _is_stuck(world, batch) or _has_enough(world, batch)]
    unconfirmed = [b for b in batches if not b.is_alive and b.key not in world.memory.confirmed]
    times = [batch.next_check_at for batch in stuck if batch.next_check_at is not None]
    # A child is looked at earlier, for its parent's sake; an event is given its time to arrive.
    times += [
        max(b.next_check_at, b.ended_at + CHECK_AFTER) for b in unconfirmed if b.next_check_at and b.ended_at
    ]
    if not times:
        return
    world.at = max(world.at, *times)
    _sweep(world)
    for batch in stuck:
        ends = [at for at in (batch.expires_at, batch.deadline_at) if at is not None]
        now = world.memory.batches[batch.key]
        right = now.state in (State.COMPLETE, State.FAILED) or (min(ends) <= world.at and not now.is_alive)
        require(right, "sweep", f"{batch.key} was {batch.state} with nothing missing and is {now.state}")
    for batch in unconfirmed:
        sent = (batch.key, world.at) in world.memory.notices
        require(sent, "events", f"{batch.key} is {batch.state}, and its event was not sent again")
        require(parent_knows(world, batch), "parents", f"the parent of {batch.key} was not notified")
    _deliver(world)


def _sweep_below(world: World) -> None:
    """A few sweeps cancel what is live below a batch that was cancelled with its children."""
    batches = world.memory.batches
    tops = [key for key, batch in batches.items() if batch.cancels_children]
    for _ in range(SWEEPS_BELOW if tops else 0):
        world.at += CHECK_CHILD_AFTER + 2 * world.scenario.skew
        _sweep(world)
        _deliver(world)
    for parent in tops:
        children = [batches[key] for keys in world.referee.children[parent].values() for key in keys]
        live = [child for child in children if child.is_alive]
        require(not live, "cascade", f"{parent} was cancelled with its children, and {live} are live")
        below = [child for child in children if child.end_reason == f"batch {parent.batch_id} was cancelled"]
        right = all(child.cancels_children for child in below)
        require(right, "cascade", f"{below} were cancelled without their children")


def _live_on(world: World) -> None:
    """Time goes on from one look to the next until there is nothing to look at."""
    for number in range(ROUNDS_MAX):
        due = [
            batch.next_check_at for batch in world.memory.batches.values() if batch.next_check_at is not None
        ]
        if not due:
            return
        missed = WITHOUT_SWEEPER if world.scenario.slow else MISSED if number > COUNTED else timedelta(0)
        world.at = max(world.at, min(due)) + missed
        world.expire()
        planned = {key: batch.next_check_at for key, batch in world.memory.batches.items()}
        _sweep(world)
        for batch in world.memory.batches.values():
            forgotten = batch.next_check_at is not None and batch.next_check_at <= world.at
            forgotten = forgotten and batch.next_check_at == planned[batch.key]
            require(not forgotten, "sweep", f"{batch.key} was due and was not looked at")
        _deliver(world)
    require(False, "sweep", f"something is due for ever after {ROUNDS_MAX} sweeps")


def _sweep(world: World) -> None:
    failed = _sweeper(world).sweep().failed
    require(not failed, "sweep", f"{failed} batches could not be looked at, and the store is in order")


def _deliver(world: World) -> None:
    """The bus brings every event that it has been sent again; a first event may stay lost."""
    for key in dict.fromkeys(key for key, _ in sorted(world.memory.notices, key=str)):
        batch = world.memory.batches[key]
        if batch.next_check_at is not None:
            _sweeper(world).confirm(batch)
            planned = world.memory.batches[key].next_check_at
            right = planned is None or batch.cancels_children
            require(right, "sweep", f"{key} is confirmed, and the next look is at {planned}")
    world.referee.to_bus.clear()


def _sweeper(world: World) -> Tracker:
    return world.tracker(world.scenario.page_bits[0], timedelta(0))
