"""I7: an ack asks the same of the store in a small batch of one add as in a large one of many."""

from __future__ import annotations

from typing import Any

from fanin.tracker import Ack, Mode, OpenBatch, Outcome, Tracker
from tests.simulating.network import Remote
from tests.simulating.violation import require
from tests.simulation.scenario import TENANT
from tests.simulation.world import World

SMALL, LARGE = (3,), (3, *(500,) * 9)
"""The adds of each batch."""
PART = 0.15
"""The part of the runs that look, because the adds take their time."""


def check(world: World) -> None:
    """Hold one ack of each batch against the other, in one of all ways in which a batch may be acked."""
    if world.random.random() >= PART:
        return
    draw = world.random.choice
    spec = OpenBatch(mode=draw(tuple(Mode)), max_failures=draw((None, 2)))
    outcome, closes = draw(tuple(Outcome)), draw((True, False))
    small, large = (_rows_of_an_ack(world, adds, spec, outcome, closes) for adds in (SMALL, LARGE))
    require(small == large, "I7", f"an ack of {LARGE} items asks for {large}, one of {SMALL} for {small}")


def _rows_of_an_ack(
    world: World, adds: tuple[int, ...], spec: OpenBatch, outcome: Outcome, closes: bool
) -> list[tuple[str, int]]:
    """Return the requests of one ack, each with the number of its rows."""
    sent: list[tuple[str, int]] = []

    def send(name: str, *args: Any) -> Any:
        sent.append((name, len(args[0]) if name == "pages" else 1))
        return getattr(world.memory, name)(*args)

    base = world.tracker(world.scenario.page_bits[0], world.scenario.fresh_for)
    tracker = Tracker(
        Remote(send), base.page_bits, now=base.now, new_id=base.new_id, entropy=base.entropy, pause=base.pause
    )
    batch = tracker.open(TENANT, spec)
    groups = [tracker.add(TENANT, batch.batch_id, count).groups[0].id for count in adds]
    if closes:
        tracker.close(TENANT, batch.batch_id, "closer")
    sent.clear()
    tracker.ack(TENANT, [Ack(batch.batch_id, groups[0], 0, 0, "an acker", outcome, "boom")])
    return sent
