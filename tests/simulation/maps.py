"""The map of a batch, held against what has really been acked and has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanin.tracker import Batch, Tracker
from fanin.tracker.reads.mapping import BatchMap
from tests.simulating.violation import require

if TYPE_CHECKING:
    from tests.simulation.world import World

CELLS = (1, 3, 1024)


def check(world: World, tracker: Tracker, batch: Batch) -> None:
    """Between two steps: a map that is exact has the number of acked items of each cell, and its failures."""
    found = tracker.map(batch, world.random.choice(CELLS))
    landed, failed = world.referee.landed[batch.key], world.referee.failed[batch.key]
    acked = tuple(cell.bit_count() for cell in _cells(found, landed))
    require(found.exact and found.acked == acked, "map", f"{batch.key}: {found}, {acked} are acked")
    flags = tuple(map(bool, _cells(found, failed)))
    require(found.failed == flags, "map", f"{batch.key}: {found}, {failed:b} failed")


def read(world: World, tracker: Tracker, batch: Batch) -> None:
    """While others go on, from rows that may be old: nothing is in the map that was not acked by its end."""
    found = tracker.map(batch, world.random.choice(CELLS))
    landed = _cells(found, world.referee.landed[batch.key])
    right = all(shown <= cell.bit_count() for shown, cell in zip(found.acked, landed, strict=True))
    require(right, "map", f"{batch.key}: {found}, {landed} are acked")
    ever = _cells(found, world.referee.has_failed[batch.key])
    right = all(cell for flag, cell in zip(found.failed, ever, strict=True) if flag)
    require(right, "map", f"{batch.key}: {found}, {ever} failed")


def _cells(found: BatchMap, bits: int) -> list[int]:
    """Cut the bits of a batch at the cells of a map."""
    width = found.cell_items
    starts = range(found.start, found.stop, width)
    return [bits >> start & (1 << min(width, found.stop - start)) - 1 for start in starts]
