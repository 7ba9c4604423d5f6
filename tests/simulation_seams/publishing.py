"""A publisher: it opens a batch, adds its items, sends a message for each, and closes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fanin.client.consuming.chunks import range_of
from fanin.client.items import Items
from fanin.errors import Conflict, NotFound, StoreUnavailable
from fanin.tracker import BatchKey
from tests.simulating.faults import Crash
from tests.simulating.violation import require
from tests.simulation_seams.scenario import TENANT, BatchScript

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

AGAIN_SECONDS = 3.0


def send(world: World, items: Items, sent: set[str]) -> None:
    """Send the messages of some items, single or in chunks, but for those that are known to be *sent*."""
    size = world.scenario.chunk
    for part in items.chunks(size) if size else (items[at : at + 1] for at in range(len(items))):
        if part.text not in sent:
            for item in part:
                world.outside.item(item)
            body = part.message() if size else json.dumps({"itemId": part[0]})
            world.network.send(world.chunks if size else world.queue, "send", body, world.chain)
            sent.add(part.text)


def items_of(body: str) -> list[str]:
    """Return the items that a message is of."""
    message = json.loads(body)
    return list(range_of(message["items"])) if "items" in message else [message["itemId"]]


class Publisher:
    """Publishes one batch; it begins again under the same keys until it is done, or the batch is over.

    *sent*: what its process knows to be sent, which a killed one takes with it.
    """

    def __init__(self, world: World, script: BatchScript) -> None:
        self.world, self.script = world, script
        self.sent: set[str] = set()

    def run(self) -> None:
        try:
            self._publish()
        except (StoreUnavailable, Crash) as failure:
            self.sent = set() if isinstance(failure, Crash) else self.sent
            self.world.after(AGAIN_SECONDS, f"publisher of {self.script.name}", self.run)
        except (Conflict, NotFound):
            self.world.events["publishers refused"] += 1

    def _publish(self) -> None:
        name = self.script.name.replace(" ", "-")
        fanin = self.world.process().fanin
        with fanin.open(self.script.name, key=f"open-{name}", **self.script.options) as batch:
            for number, count in enumerate(self.script.adds):
                send(self.world, batch.add(count, key=f"{name}-{number}"), self.sent)
        stored = self.world.memory.batches[BatchKey(TENANT, batch.id)]
        sent = [item for item in self.world.outside.at[stored.key].values() if item.messages]
        whole = stored.total == len(sent) == sum(self.script.adds)
        require(
            whole and (stored.closed_at is not None or stored.reached is not None),
            "publisher",
            lambda: f"{stored} was published, and is not closed, or not with all items",
        )
