"""Somebody who cancels batches, forces their end, reopens what failed of them, and deletes them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fanin.client.items import Items
from fanin.errors import Conflict, KeyReused, NotFound
from fanin.tracker import Batch
from fanin.tracker.reopening import ReopenBatch, ReopenItems, whole_group
from tests.simulation_seams.publishing import send
from tests.simulation_seams.referee import BY_SOMEBODY
from tests.simulation_seams.scenario import TENANT

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

AGAIN_SECONDS = 20.0


class Operator:
    """*cancels* and *repairs*: how many are left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cancels, self.repairs = world.scenario.cancels, world.scenario.repairs

    def come(self) -> None:
        """Begin to do something, now and then."""
        world, random = self.world, self.world.random
        if not (self.cancels or self.repairs) or not world.memory.batches or random.random() >= 0.02:
            return
        batch = random.choice(list(world.memory.batches.values()))
        if batch.is_alive and self.cancels:
            self.cancels -= 1
            forced = random.random() < 0.3
            world.start("canceller", lambda: self._cancel(batch, forced))
        elif not batch.is_alive and self.repairs:
            self.repairs -= 1
            work = self._reopen if random.random() < 0.6 else self._delete
            world.start("repair", lambda: work(batch))

    def _cancel(self, batch: Batch, forced: bool) -> None:
        tracker = self.world.tracker()

        def work() -> None:
            with suppress(NotFound):
                if forced:
                    tracker.end(TENANT, batch.batch_id, BY_SOMEBODY, "somebody")
                else:
                    tracker.cancel(TENANT, batch.batch_id, BY_SOMEBODY)

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
