"""What a key stands for when the rows of its first batch expire: TTL deletes them at once, late, or never."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from fanin.errors import NotFound
from fanin.tracker import Ack, Batch, OpenBatch, Retention, State, Tracker, Verdict
from fanin.tracker.memory import Row
from tests.simulating.violation import require
from tests.simulation.ledger import Ledger
from tests.simulation.scenario import TENANT
from tests.simulation.world import World

HOUR = timedelta(hours=1)
SPEC = OpenBatch(retention=Retention(6 * HOUR, 6 * HOUR, 6 * HOUR))
DELETES = {"early": 1.0, "late": 0.5, "never": 0.0}
"""How likely TTL deletes a row that has expired, each time the clock goes on."""


def check(world: World) -> None:
    """I8: a key stands for one live batch, which is a new one, whatever is left of the one before it."""
    likely = DELETES[world.random.choice(sorted(DELETES))]
    for ledger in world.ledgers:
        if ledger.script.open_key and ledger.opened_as:
            _open_again(world, ledger, ledger.opened_as[-1], lambda _: world.random.random() < likely)
            _ack_again(world, ledger)


def _open_again(world: World, ledger: Ledger, before: Batch, deletes: Callable[[Row], bool]) -> None:
    """The next batch of the key is opened an hour before the rows of the last one go, and stays."""
    tracker = world.tracker(world.scenario.page_bits[0], timedelta(0))
    gone_at, key = before.row_expires_at, ledger.script.open_key
    _pass_to(world, max(world.at, gone_at - HOUR), deletes)
    batch = tracker.open(TENANT, SPEC, key)
    fresh = batch.batch_id not in {before.batch_id, *(one.batch_id for one in ledger.opened_as)}
    require(fresh and not batch.total, "I8", f"{key} stands for {batch} after {before}")
    group = tracker.add(TENANT, batch.batch_id, 3, "again").groups[0]
    for at in (gone_at, gone_at + HOUR):
        _pass_to(world, max(world.at, at), deletes)
        again = tracker.open(TENANT, SPEC, key)
        require(again.key == batch.key, "I8", f"{key} stands for {again} beside {batch}")
        _check_gone(tracker, before)
    _check_completes(tracker, batch, Ack(batch.batch_id, group.id, 0, 2, "last"))


def _ack_again(world: World, ledger: Ledger) -> None:
    """An ack of a batch that is over finds nothing and leaves no row, whichever rows of it are left."""
    for message in ledger.messages[:2]:
        before = set(world.memory.stored_pages)
        tracker = world.tracker(world.scenario.page_bits[0], timedelta(0))
        counts = tracker.ack(TENANT, [message.ack]).results[0].counts
        gone = counts.keys() <= {Verdict.EXPIRED, Verdict.NOT_FOUND}
        require(gone, "expiry", f"{message} is of a batch that is over: {counts}")
        new_pages = set(world.memory.stored_pages) - before
        require(not new_pages, "expiry", f"{message} left {new_pages}")


def _pass_to(world: World, at: datetime, deletes: Callable[[Row], bool]) -> None:
    world.at = at
    world.memory.delete_expired(at, deletes)


def _check_gone(tracker: Tracker, before: Batch) -> None:
    """What has expired is not there, whether its rows are or not."""
    try:
        found = tracker.get(TENANT, before.batch_id)
    except NotFound:
        return
    require(False, "expiry", f"{before.key} has expired and is found: {found}")


def _check_completes(tracker: Tracker, batch: Batch, ack: Ack) -> None:
    """No page, receipt or failure of another batch has any part in this one."""
    report = tracker.ack(TENANT, [ack])
    require(report.results[0].counts == {Verdict.ACCEPTED: 3}, "I4", f"{batch.key} answered {report}")
    closed = tracker.close(TENANT, batch.batch_id, "the last closer").batch
    is_complete = (closed.state, closed.total, closed.failed) == (State.COMPLETE, 3, 0)
    require(is_complete, "I2", f"{closed} is complete with three items and no failure")
