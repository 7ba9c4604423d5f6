"""What must hold once every caller was answered, and what those are answered who ask once more."""

from __future__ import annotations

from fanin.errors import Conflict
from fanin.tracker import Added, Batch, State, Tracker, Verdict
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.tree import height
from tests.simulating.violation import require
from tests.simulation import endings
from tests.simulation.ledger import Ledger, Message
from tests.simulation.scenario import TENANT
from tests.simulation.world import World

ASKED_AGAIN = 3


def check(world: World) -> None:
    """Hold every batch against I2, I3, I4, I8; then ask again and see that nothing moves."""
    if not world.scenario.is_basic:
        endings.check(world)
        return
    world.look()
    for ledger in world.ledgers:
        batch = world.memory.batches[ledger.key]
        phantom = _check_total(batch, ledger)
        _check_verdicts(world, batch, ledger)
        _check_end(world, batch, ledger, phantom)
        before = _known(world)
        _ask_again(world, ledger, batch)
        require(before == _known(world), "I4", f"{ledger.script.name} changed when all was said again")


def _known(world: World) -> tuple[dict[BatchKey, Batch], dict[PageKey, int]]:
    """All that the store says of what was acked; a page may still lose its digits, which say no more."""
    counts = {key: page.n for key, page in world.memory.stored_pages.items()}
    return dict(world.memory.batches), counts


def _check_total(batch: Batch, ledger: Ledger) -> int:
    """I8: each answered add reserved its items once; the rest is of adds whose answer no caller awaited."""
    answered = sum(add.count for add in ledger.added)
    phantom = batch.total - answered
    explained = phantom in ledger.phantoms()
    require(explained, "I8", f"{batch.total} reserved, {answered} answered, given up: {ledger.given_up}")
    return phantom


def _check_verdicts(world: World, batch: Batch, ledger: Ledger) -> None:
    """I4: an item is accepted once, or without an answer where one was lost."""
    accepted, landed = ledger.accepted, world.referee.landed[batch.key].bit_count()
    right = accepted <= landed if world.store.faults else accepted == landed
    require(right, "I4", f"{landed} acks landed, {accepted} were answered as accepted")


def _check_end(world: World, batch: Batch, ledger: Ledger, phantom: int) -> None:
    """I2: complete, but for reserved items that no caller knows; I3: one was notified; I4: counts add up."""
    landed = world.referee.landed[batch.key]
    require(landed == ledger.handed, "I2", f"acked {landed:b}, handed out {ledger.handed:b}")
    if phantom:
        require(batch.state is State.CLOSED, "I1", f"{phantom} items are open, the batch is {batch.state}")
        require(not ledger.notified, "I3", f"{ledger.notified} were notified of a batch that is not complete")
        return
    require(batch.state is State.COMPLETE, "I2", f"all {batch.total} are acked, the batch is {batch.state}")
    require(
        ledger.notified == {batch.completed_by},
        "I3",
        f"{ledger.notified} was notified, not {batch.completed_by}",
    )
    pages = world.memory.stored_pages.items()
    counted = sum(page.n for key, page in pages if key.batch == batch.key and key.level == 0)
    require(counted == batch.total, "I4", f"the leaves count {counted} of {batch.total}")
    levels = height(batch.total, batch.shape) if batch.total else -1
    own = [(key, page) for key, page in pages if key.batch == batch.key and key.level <= levels]
    whole = [key for key, page in own if not page.compacted]
    right = not whole or world.store.faults
    require(right, "pages", f"{batch.key} is complete, and {whole} keep their digits")


def _ask_again(world: World, ledger: Ledger, batch: Batch) -> None:
    tracker = world.trackers[0]
    for caller in sorted(set(ledger.script.closers)):
        closed = tracker.close(TENANT, batch.batch_id, caller)
        _check_notified(batch, caller, closed.completed_by_caller)
    named = [message for message in ledger.messages if message.caller == batch.completed_by]
    for message in [*named, *ledger.messages[:ASKED_AGAIN]]:
        report = tracker.ack(TENANT, [message.ack])
        right = set(report.results[0].counts) == {Verdict.DUPLICATE}
        require(right, "I4", f"{message} was answered {report.results[0]}")
        _check_notified(batch, message.caller, bool(report.completions))
    if ledger.messages:
        _ask_as_another(world, ledger.messages[0])
    _add_again(world, ledger, batch)


def _check_notified(batch: Batch, caller: str, notified: bool) -> None:
    """I3: the one who completed the batch is notified whenever it asks, and no other is."""
    require(
        notified == (caller == batch.completed_by), "I3", f"{caller}, asked again, was notified {notified}"
    )


def _ask_as_another(world: World, message: Message) -> None:
    """I6: an id of another tenant is not found."""
    report = world.trackers[0].ack("thief", [message.ack])
    right = set(report.results[0].counts) == {Verdict.NOT_FOUND} and not report.completions
    require(right, "I6", f"another tenant got {report}")


def _add_again(world: World, ledger: Ledger, batch: Batch) -> None:
    """I5: nothing new gets in; I8: an add that was answered is answered the same."""
    tracker = world.trackers[0]
    for script, added in ledger.added.items():
        if script.keyed:
            again = _added(tracker, batch, script.count, script.key)
            require(again == added, "I8", f"{script.name} was answered {added}, then {again}")
    new = _added(tracker, batch, 1, "an add after close")
    require(new is None, "I5", f"an add got in after close: {new}")


def _added(tracker: Tracker, batch: Batch, count: int, key: str | None) -> Added | None:
    """The answer to an add; None where it is refused."""
    try:
        return tracker.add(TENANT, batch.batch_id, count, key)
    except Conflict:
        return None
