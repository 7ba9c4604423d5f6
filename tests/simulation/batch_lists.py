"""The lists of batches, held against the batches that are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanin.tracker import Batch, ListQuery, State, Tracker
from fanin.tracker.rules.model import Position
from tests.simulating.violation import require
from tests.simulation.ledger import Ledger
from tests.simulation.scenario import TENANT

if TYPE_CHECKING:
    from tests.simulation.world import World

PARTS_MAX = 100


def check(world: World, tracker: Tracker, ledger: Ledger) -> None:
    """Between two steps: the list of a user key has its batches, as they are stored."""
    found = read(tracker, ledger)
    named = [one for one in world.memory.batches.values() if one.user_key == ledger.script.name]
    there = [one for one in named if one.state is not State.EXPIRED and one.expires_at > world.at]
    missing = [one.key for one in there if one not in found and world.is_ahead(one.expires_at)]
    gone = [one.key for one in found if one not in there and one.expires_at <= world.at - world.scenario.skew]
    require(not missing and not gone, "lists", f"{missing} are not listed, and {gone} are")


def read(tracker: Tracker, ledger: Ledger) -> list[Batch]:
    """Return all batches of a user key, part by part: each once and of that key, the newest first."""
    found: list[Batch] = []
    after: Position | None = None
    for _ in range(PARTS_MAX):
        part = tracker.list(TENANT, ListQuery(user_key=ledger.script.name, limit=2, after=after))
        require(len(part.batches) <= 2, "lists", f"two were wanted: {part}")
        found += part.batches
        after = part.resume
        if after is None:
            break
    order = [one.position for one in found]
    require(order == sorted(set(order), reverse=True), "lists", f"{found} are not the newest first")
    right = all(one.user_key == ledger.script.name for one in found)
    require(right, "lists", f"{found} are not of {ledger.script.name}")
    return found
