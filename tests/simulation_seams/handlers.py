"""The user's consumer: it works, raises, crashes, or hands its item to a batch, a task or a job."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from fanin.client.consuming.chunks import ChunkItem
from fanin.client.consuming.consumer import Consumer
from fanin.client.fanin import Fanin
from fanin.client.handing_over.handing import new_owner
from fanin.errors import Failed, InvalidRequest, StoreUnavailable
from fanin.isolating import Record, receives
from tests.simulating.faults import Crash
from tests.simulating.violation import require
from tests.simulation_seams import distorting
from tests.simulation_seams.outside import Item, Work
from tests.simulation_seams.publishing import items_of, send
from tests.simulation_seams.scenario import (
    AFTER,
    BEFORE,
    CHILD,
    FOR_GOOD,
    INSIDE,
    JOB,
    POISON,
    REPORT,
    TASK,
    WORK,
)
from tests.simulation_seams.sqs import group_of

if TYPE_CHECKING:
    from tests.simulation_seams.world import World


SLOWER = 40
"""How much longer the work of a worker takes than that of a Lambda function."""


class WorkFailed(Exception):
    """An error of the user's function."""


class Handling:
    """The consumer of one process, made by ``fanin.acks``."""

    def __init__(self, world: World, fanin: Fanin) -> None:
        self.world, self.fanin = world, fanin
        fail_after = world.scenario.fail_after
        results = world.scenario.results
        self._handler = fanin.acks(fail_after=fail_after, results=results)(self._handle)
        self._each = fanin.acks_each(fail_after=fail_after, results=results)(self._handle_item)

    def settle(self, event: Mapping[str, Any], delivery: Any, in_chunks: bool) -> dict[str, Any]:
        """Process a delivery as Lambda's handler does."""
        return (self._each if in_chunks else self._handler)(event, delivery)

    def consumer(self, in_chunks: bool) -> Consumer:
        """Return what a worker outside of Lambda works by."""
        found: Any = self._each if in_chunks else self._handler
        consumer: Consumer = found.__fanin_consumer__[1]
        return consumer

    def _handle(self, record: Record) -> str | None:
        return self._work(record, self.world.outside.item(items_of(record["body"])[0]))

    def _handle_item(self, item: ChunkItem) -> str | None:
        return self._work(item.record, self.world.outside.item(item.id))

    def _work(self, record: Record, item: Item) -> str | None:
        world, work = self.world, self._begin(record, item)
        try:
            world.spend(item.plan.seconds * (SLOWER if world.scenario.workers else 1))
            self._die_of(item)
            if item.plan.asks:
                self._ask(item)
                distorting.check(self.fanin, item.id)
                self._ack_early(item)
            self._fail_at(BEFORE, item)
            self._hand_over(work)
            self._fail_at(AFTER, item)
        except Exception as error:
            item.raised += 1
            ends = work.last or isinstance(error, Failed)
            item.failed |= ends
            if isinstance(error, Failed):
                self._note_for_good(record, item)
            if not (isinstance(error, StoreUnavailable) and item.plan.careless and work.handing):
                work.delivery.stopped |= set() if ends else {group_of(record)}
                raise
        else:
            item.is_done |= not work.handed
            return None if work.handed else self._returned(item)
        finally:
            work.delivery.free_at = world.now()
        return None

    def _returned(self, item: Item) -> str | None:
        """Return what the work returns, which some items' does not."""
        if not self.world.scenario.results or item.plan.asks:
            return None
        item.returned.append(f"run {item.works} of {item.position}")
        return item.returned[-1]

    def _begin(self, record: Record, item: Item) -> Work:
        """Note that work begins, and judge whether it may."""
        world, times = self.world, receives(record)
        last = world.scenario.fail_after is not None and times >= world.scenario.fail_after
        work = Work(item, world.loop.actor.delivery, world.now(), times, last)
        world.loop.actor.process.begun.add(record["messageId"])
        item.works += 1
        world.events["works"] += 1
        world.network.write(f"{world.loop.actor.name} works on {item.id[-8:]}: {item.plan}, receive {times}")
        world.referee.began(work)
        repeats = (record["messageId"], item.id) in world.loop.actor.process.for_good
        require(not repeats, "for good", lambda: f"work on {item.id} began again after it failed for good")
        stopped = world.scenario.in_order and group_of(record) in work.delivery.stopped
        require(not stopped, "order", lambda: f"work on {item.id} began behind one that returns")
        return work

    def _die_of(self, item: Item) -> None:
        """End the process, if the item is poisoned."""
        if item.plan.kind == POISON:
            self.world.events["poisoned"] += 1
            self.world.loop.actor.process.has_died |= bool(self.world.scenario.workers)
            raise Crash

    def _ask(self, item: Item) -> None:
        """Ask whether the batch is over; it is, if the answer says so."""
        over = self.fanin.is_over()
        alive = self.world.memory.batches[item.batch].is_alive
        require(not (over and alive), "skip", lambda: f"{item.id} is called over, and its batch is live")

    def _ack_early(self, item: Item) -> None:
        """Ack the item under work, which is refused, unless a copy of its message has handed it over."""
        if item.plan.kind == WORK:
            with suppress(InvalidRequest):
                self.fanin.ack([item.id])

    def _note_for_good(self, record: Record, item: Item) -> None:
        """Note a failure for good in its process, unless its child may be left, which brings it back."""
        self.world.events["failed for good"] += 1
        item.for_good = True
        if item.plan.kind != CHILD:
            self.world.loop.actor.process.for_good.add((record["messageId"], item.id))

    def _fail_at(self, where: str, item: Item) -> None:
        """Raise, if the plan of the item says so."""
        if where == item.plan.where and item.raised < item.plan.raises:
            raise WorkFailed(f"try {item.raised}")
        if where == item.plan.where and item.plan.for_good:
            raise Failed(FOR_GOOD)

    def _hand_over(self, work: Work) -> None:
        """Give the item to a batch, a task or a job, if that is its plan."""
        kind, item = work.item.plan.kind, work.item
        work.handing = True
        if kind == CHILD:
            self._open_child(item)
        elif kind == TASK:
            self.fanin.task("a target", None, item_id=item.id)
        elif kind == JOB:
            self._add_job(item)
        elif kind == REPORT:
            item.failed = True
            self.fanin.fail([item.id], "the work can never be done")
        if kind in (CHILD, TASK, JOB, REPORT):
            work.handed = True
            self.world.events[f"handed to a {kind}"] += 1

    def _add_job(self, item: Item) -> None:
        """Add a job as the client's queue does, or as the user of a queue of another kind."""
        add = partial(self.world.network.send, self.world.outside, "register", JOB, f"job-{item.id}", item.id)
        if item.plan.careless:
            with new_owner(item.id):
                add()
        else:
            add()
            self.fanin.hand_over()

    def _open_child(self, item: Item) -> None:
        """Open the batches of the item, of items whose messages go to the same queue."""
        keys: list[str | None] = [f"{number}-of-{item.id[-12:]}" for number in range(item.plan.children)]
        keys[0] = keys[0] if item.plan.keyed else None
        with ExitStack() as blocks:
            options = item.plan.options | ({"results": True} if self.world.scenario.results else {})
            opened = (self.fanin.open(parent=item.id, key=key, **options) for key in keys)
            children = [blocks.enter_context(child) for child in opened]
            for child in children:
                for count in item.plan.adds:
                    send(self.world, child.add(count), set())
                    self._fail_at(INSIDE, item)
