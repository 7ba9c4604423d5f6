"""How far a batch is, from a number of pages that does not grow with it: a map of one cell."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker.reads.mapping import Cell, Look, Walk
from fanin.tracker.rules.model import Batch, Progress
from fanin.tracker.rules.options import Mode
from fanin.tracker.store import TrackerStore

PAGES_A_LEVEL = 1_024
"""Pages of a level that are read at most: those of a million items, and so all pages above a billion."""
PAGES_A_GLIMPSE = 32
"""Pages of a level that a progress bar is drawn from."""


def progress(store: TrackerStore, batch: Batch, most: int | None = None) -> Progress:
    """Count from the root down, by consistent reads of at most *most* pages of a level if that suffices.

    Of more, ``PAGES_A_LEVEL`` stand for the others. What lies under pages that are not read counts as not
    done in ``acked``, as done in ``upper_bound``, and as done as in those that are read in ``estimate``.
    """
    return _counted(store.pages, batch, most or PAGES_A_LEVEL, PAGES_A_LEVEL)


def glimpse(store: TrackerStore, batch: Batch) -> Progress:
    """Count by eventually consistent reads of at most ``PAGES_A_GLIMPSE`` pages of a level."""
    return _counted(store.glance, batch, PAGES_A_GLIMPSE, PAGES_A_GLIMPSE)


def _counted(look: Look, batch: Batch, most: int, spare: int) -> Progress:
    if not batch.total or batch.is_done:
        return Progress(batch.total, batch.failed, batch.total, batch.total, exact=True)
    cell = Cell(0, batch.total)
    # Without failures no page is read for them.
    unfailed = replace(batch, failed=0)
    Walk(look, unfailed, batch.total, [cell], most, spare).run()
    acked = round(cell.acked)
    exact = not cell.unknown and batch.mode is Mode.EXACT
    return Progress(acked, batch.failed, cell.shown, acked + cell.unknown, exact)
