"""An operator who cancels batches, forces their end, does their work by hand, reopens and deletes them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fanin.client.items import Items
from fanin.errors import BatchEnded, Conflict, KeyReused, NotFound
from fanin.tracker import Batch, State
from fanin.tracker.batch_changes.reopening import ReopenBatch, ReopenItems, whole_group
from tests.simulation_seams.publishing import send
from tests.simulation_seams.referee import BY_OPERATOR
from tests.simulation_seams.scenario import TENANT

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

AGAIN_SECONDS = 20.0


class Operator:
    """*cancels*, *repairs* and *by_hand*: how many are left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cancels, self.repairs = world.scenario.cancels, world.scenario.repairs
        self.by_hand = world.scenario.by_hand

    def come(self) -> None:
        """Begin to do something, now and then."""
        world, random = self.world, self.world.random
        has_work = self.cancels or self.repairs or self.by_hand
        if not has_work or not world.memory.batches or random.random() >= 0.02:
            return
        batch = random.choice(list(world.memory.batches.values()))
        if self.by_hand and self._can_be_done(batch):
            self.by_hand -= 1
            world.start("by hand", lambda: self._do_all(batch))
        elif batch.is_alive and self.cancels:
            self.cancels -= 1
            forced = random.random() < 0.3
            world.start("canceller", lambda: self._cancel(batch, forced))
        elif not batch.is_alive and self.repairs:
            self.repairs -= 1
            work = self._reopen if random.random() < 0.6 else self._delete
            world.start("repair", lambda: work(batch))

    def _can_be_done(self, batch: Batch) -> bool:
        """Whether items have failed of a batch whose messages have all been sent."""
        sent = len(self.world.outside.at[batch.key]) == batch.total
        return batch.state is State.CLOSED and batch.failed > 0 and sent

    def _do_all(self, batch: Batch) -> None:
        """Do the work of all items, and ack them in one request, again until that is answered."""
        items = self.world.outside.at[batch.key].values()
        for item in items:
            item.is_done = True
        self.world.attempt(
            lambda: self.world.process().fanin.ack([item.id for item in items]),
            lambda: self.world.after(AGAIN_SECONDS, "by hand", lambda: self._do_all(batch)),
        )
        self.world.events["done by hand"] += 1

    def _cancel(self, batch: Batch, forced: bool) -> None:
        tracker = self.world.tracker()

        def work() -> None:
            with suppress(NotFound, BatchEnded):
                if forced:
                    tracker.end(TENANT, batch.batch_id, BY_OPERATOR, "operator")
                else:
                    children = batch.total % 2 == 0
                    tracker.cancel(TENANT, batch.batch_id, BY_OPERATOR, children=children)

        self.world.attempt(work, lambda: None)

    def _delete(self, batch: Batch) -> None:
        def work() -> None:
            with suppress(NotFound, Conflict):
                self.world.tracker().delete(TENANT, batch.batch_id)

        self.world.attempt(work, lambda: None)

    def _reopen(self, batch: Batch) -> None:
        """Reopen a batch and send the messages of the new one, again until that is done."""
        items = ReopenItems.FAILED if batch.total % 2 else ReopenItems.UNFINISHED
        request = ReopenBatch(origin_batch_id=batch.batch_id, items=items)
        sent: set[str] = set()

        def work() -> None:
            with suppress(NotFound, Conflict, KeyReused):
                new = self.world.tracker().reopen(TENANT, request, "reopen", f"again-{batch.batch_id}")
                send(self.world, Items(new.batch_id, whole_group(new).id, new.total), sent)

        self.world.attempt(
            work, lambda: self.world.after(AGAIN_SECONDS, "repair", lambda: self._reopen(batch))
        )
