"""How far a batch is, from a number of pages that does not grow with it."""

from __future__ import annotations

from fanin.tracker.model import Batch, PageKey, Progress, State
from fanin.tracker.options import Mode
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from fanin.tracker.tree import capacity, height

PAGES_A_LEVEL = 100


def progress(store: TrackerStore, batch: Batch) -> Progress:
    """Count from the root down; at most 100 unfinished pages of a level are looked into.

    What lies under the others counts as not done in ``acked`` and as done in ``upper_bound``.
    """
    if batch.total == 0 or (batch.state is State.COMPLETE and batch.max_failures is None):
        return Progress(batch.total, batch.failed, batch.total, exact=True)
    acked, unknown = 0, 0
    level = height(batch.total, batch.shape)
    unfinished = [PageKey(batch.key, level, 0)]
    while True:
        looked, left_out = unfinished[:PAGES_A_LEVEL], unfinished[PAGES_A_LEVEL:]
        unknown += sum(_items_under(batch, key) for key in left_out)
        pages = store.pages(looked)
        if level == 0:
            acked += sum(min(page.n, _items_under(batch, key)) for key, page in pages.items())
            exact = not unknown and batch.mode is Mode.EXACT
            return Progress(acked, batch.failed, acked + unknown, exact)
        unfinished = []
        for key in looked:
            done, rest = _children(batch, key, pages.get(key, Page()))
            acked += sum(_items_under(batch, child) for child in done)
            unfinished += rest
        level -= 1


def _children(batch: Batch, key: PageKey, page: Page) -> tuple[list[PageKey], list[PageKey]]:
    """The pages under *page*: those that are full, and those that may not be."""
    done: list[PageKey] = []
    rest: list[PageKey] = []
    first = key.number * batch.shape.fanout
    for bit in range(batch.shape.fanout):
        child = PageKey(batch.key, key.level - 1, first + bit)
        if not _items_under(batch, child):
            break
        full = page.compacted or page.bits >> bit & 1
        (done if full else rest).append(child)
    return done, rest


def _items_under(batch: Batch, key: PageKey) -> int:
    return capacity(key.level, key.number, batch.total, batch.shape)
