"""Reads the leaves of one batch by their keys, parent by parent, without those that the parent marks full."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fanin.pacing import Pace
from fanin.tracker import Batch, BatchKey, Mode, TrackerStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.rules.tree import Shape
from pipeline.table_frames.rows import Facts, facts_of_page

LEAVES_A_READ = 100
"""Pages that are read together, in one request to the store."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The leaves under parent *number* of a batch of *total* items."""

    number: int
    total: int
    shape: Shape

    @property
    def leaves(self) -> range:
        """The numbers of its leaf pages."""
        first = self.number * self.shape.fanout
        return range(first, min(first + self.shape.fanout, -(-self.total // self.shape.leaf)))

    def open_leaves(self, store: TrackerStore, key: BatchKey, failures: bool) -> list[int]:
        """Return the leaves that may have outstanding items, or with *failures* failed ones."""
        above = PageKey(key, 1, self.number)
        parent = store.pages([above]).get(above, Page())
        return [leaf for leaf in self.leaves if parent.is_worth(leaf - self.leaves.start, failures)]

    def full_leaf(self, leaf: int) -> Page:
        """Return the page of a *leaf* whose items are all acked."""
        size = min(self.shape.leaf, self.total - leaf * self.shape.leaf)
        return Page(n=size, size=size, compacted=True)


def branches_of(batch: Batch) -> list[Branch]:
    """Return the branches of *batch*, about a million items each; an estimated batch has none."""
    if batch.mode is not Mode.EXACT:
        return []
    count = -(-batch.total // batch.shape.width(1))
    return [Branch(number, batch.total, batch.shape) for number in range(count)]


def read_branch(
    store: TrackerStore,
    key: BatchKey,
    branch: Branch,
    failures: bool,
    rate: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Facts]:
    """Yield PAGES of the leaves of *branch* that are stored, or that their parent marks full.

    A leaf that is marked full is not read, unless *failures* are wanted and it may have some. *rate*: pages
    a second; a page is one read unit.
    """
    pace = Pace(rate, time.monotonic())
    leaves = branch.open_leaves(store, key, failures)
    for leaf in sorted(set(branch.leaves).difference(leaves)):
        yield facts_of_page(PageKey(key, 0, leaf), branch.full_leaf(leaf))
    for at in range(0, len(leaves), LEAVES_A_READ):
        sleep(pace.pause(time.monotonic()))
        keys = [PageKey(key, 0, leaf) for leaf in leaves[at : at + LEAVES_A_READ]]
        for found, page in store.pages(keys).items():
            yield facts_of_page(found, page)
        pace = pace.after(len(keys))
