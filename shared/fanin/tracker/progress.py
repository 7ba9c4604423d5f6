"""How far a batch is, from a number of pages that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fanin.tracker.model import Batch, PageKey, Progress, State
from fanin.tracker.options import Mode
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from fanin.tracker.tree import capacity, height

PAGES_A_LOOK = 256
"""Pages that one look at a batch reads at most."""
PAGES_A_LEVEL = 100
"""Unfinished pages of a level that are read at most, above the leaves; as many reads are kept for the leaves.

A batch of 100 leaves is read whole, whatever its shape: 100 leaves have at most 102 pages above them.
"""


def progress(store: TrackerStore, batch: Batch) -> Progress:
    """Count from the root down. Of many unfinished pages of a level, evenly spaced ones stand for the rest.

    What lies under the pages that are not read counts as not done in ``acked``, as done in ``upper_bound``,
    and as done as in those that are read in ``estimate``.
    """
    if batch.total == 0 or all_acked(batch):
        return Progress(batch.total, batch.failed, batch.total, batch.total, exact=True)
    return Look(store, batch, PAGES_A_LOOK).progress()


def all_acked(batch: Batch) -> bool:
    """Whether the state says that every item is acked; 0.1 completed a batch that had too many failures."""
    return batch.state is State.COMPLETE and batch.max_failures is None


class Sample(NamedTuple):
    """The number of an unfinished page of a level, and how many pages it stands for, itself among them."""

    number: int
    weight: float


@dataclass(slots=True)
class Look:
    """One look at a batch: what was found *acked*, the *estimate*, and the *unknown* items in unread pages.

    *left*: how many pages may still be read.
    """

    store: TrackerStore
    batch: Batch
    left: int
    acked: int = 0
    estimate: float = 0.0
    unknown: int = 0

    def progress(self) -> Progress:
        """Walk from the root to the leaves, and return what was found."""
        level = height(self.batch.total, self.batch.shape)
        unfinished: Sequence[Sample] = [Sample(0, 1.0)]
        while level:
            parents = self._read(unfinished, level)
            unfinished = [child for found in parents for child in self._below(level, *found)]
            level -= 1
        for (number, weight), page in self._read(unfinished, 0):
            self._count(self._acked(number, page), weight)
        most = self.acked + self.unknown
        estimate = min(max(round(self.estimate), self.acked), most)
        exact = not self.unknown and self.batch.mode is Mode.EXACT
        return Progress(self.acked, self.batch.failed, estimate, most, exact)

    def _read(self, unfinished: Sequence[Sample], level: int) -> list[tuple[Sample, Page]]:
        """Return the pages of *level* that are read, in place of all that are unfinished."""
        samples = self._thinned(unfinished, level, self._allowance(level))
        keys = [PageKey(self.batch.key, level, sample.number) for sample in samples]
        pages = self.store.pages(keys)
        self.left -= len(keys)
        return [(sample, pages.get(key, Page())) for sample, key in zip(samples, keys, strict=True)]

    def _allowance(self, level: int) -> int:
        """Return how many pages of *level* may be read; each level below keeps its part."""
        if not level:
            return max(1, self.left)
        return max(1, min(PAGES_A_LEVEL, (self.left - PAGES_A_LEVEL) // level))

    def _thinned(self, unfinished: Sequence[Sample], level: int, most: int) -> Sequence[Sample]:
        """Return at most *most* of the pages, evenly spaced, which stand for the others too."""
        if len(unfinished) <= most:
            return unfinished
        step = len(unfinished) / most
        chosen = [unfinished[int((at + 0.5) * step)] for at in range(most)]
        items = [self._items(level, number) for number, _ in unfinished]
        read = [self._items(level, number) for number, _ in chosen]
        self.unknown += sum(items) - sum(read)
        scale = _weighed(unfinished, items) / _weighed(chosen, read)
        return [Sample(number, weight * scale) for number, weight in chosen]

    def _below(self, level: int, sample: Sample, page: Page) -> Iterator[Sample]:
        """Count the full pages under *page*, a page of *level*, and yield those that may not be full."""
        first, fanout = sample.number * self.batch.shape.fanout, self.batch.shape.fanout
        for bit in range(fanout):
            items = self._items(level - 1, first + bit)
            if not items:
                return
            if page.compacted or page.bits >> bit & 1:
                self._count(items, sample.weight)
            else:
                yield Sample(first + bit, sample.weight)

    def _acked(self, number: int, page: Page) -> int:
        """Return how many items of a leaf are acked, of those that were there when the batch was read."""
        items = self._items(0, number)
        if self.batch.mode is Mode.ESTIMATED:
            return min(page.n, items)
        return items - page.unset((1 << items) - 1).bit_count()

    def _count(self, items: int, weight: float) -> None:
        self.acked += items
        self.estimate += items * weight

    def _items(self, level: int, number: int) -> int:
        return capacity(level, number, self.batch.total, self.batch.shape)


def _weighed(samples: Sequence[Sample], items: Sequence[int]) -> float:
    return sum(sample.weight * count for sample, count in zip(samples, items, strict=True))
