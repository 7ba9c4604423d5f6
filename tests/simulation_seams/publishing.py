"""A publisher: it opens a batch, adds its items, sends a message for each, and closes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fanin.errors import Conflict, NotFound, StoreUnavailable
from tests.simulating.faults import Crash
from tests.simulation_seams.scenario import BatchScript

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

AGAIN_SECONDS = 3.0


def message_of(item_id: str) -> str:
    """Return the body of the message of an item."""
    return json.dumps({"itemId": item_id})


def item_of(body: str) -> str:
    """Return the item that a message is of."""
    item: str = json.loads(body)["itemId"]
    return item


class Publisher:
    """Publishes one batch; it begins again under the same keys until it is done, or the batch is over."""

    def __init__(self, world: World, script: BatchScript) -> None:
        self.world, self.script = world, script
        self.sent: set[str] = set()

    def run(self) -> None:
        try:
            self._publish()
        except (StoreUnavailable, Crash):
            self.world.after(AGAIN_SECONDS, f"publisher of {self.script.name}", self.run)
        except (Conflict, NotFound):
            self.world.events["publishers refused"] += 1

    def _publish(self) -> None:
        from tests.simulation_seams.world import Process  # noqa: PLC0415

        name = self.script.name.replace(" ", "-")
        fanin = Process(self.world).fanin
        batch = fanin.open(self.script.name, key=f"open-{name}", **self.script.options)
        for number, count in enumerate(self.script.adds):
            for item in batch.add(count, key=f"{name}-{number}"):
                self._send(item)
        batch.close()

    def _send(self, item: str) -> None:
        """Send the message of an item, unless it is known that it was sent."""
        if item not in self.sent:
            self.world.outside.item(item)
            self.world.network.send(self.world.queue, "send", message_of(item))
            self.sent.add(item)
