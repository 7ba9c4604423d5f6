"""Walks down the tree: what is outstanding and what failed, as ranges, a part at a time.

A full subtree is passed in one step: the number of pages that are read grows with what is unfinished, and
not with the batch. A walk reads a bounded number of pages, and says where to go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from fanin.tracker.model import Batch, ItemRange, PageKey, Slice
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from fanin.tracker.tree import capacity, height

PAGES_A_WALK = 400
"""Pages that one walk reads at most; a walk that stops early says where to go on."""
READ_AHEAD = 50

Stretch = tuple[int, int]


@dataclass(slots=True)
class Walk:
    """One walk over a batch, from the item *start* on."""

    store: TrackerStore
    batch: Batch
    start: int
    failures: bool
    budget: int = PAGES_A_WALK
    stopped_at: int | None = None
    _ahead: dict[PageKey, Page] = field(default_factory=dict)

    def stretches(self) -> Iterator[Stretch]:
        """The items looked for, as (first, last) of the batch, in order; neighbours may touch."""
        if self.batch.total:
            yield from self._under(PageKey(self.batch.key, height(self.batch.total, self.batch.shape), 0))

    def _under(self, key: PageKey) -> Iterator[Stretch]:
        first = key.number * self.batch.shape.width(key.level)
        end = first + capacity(key.level, key.number, self.batch.total, self.batch.shape)
        if self.stopped_at is not None or end <= self.start:
            return
        page = self._read(key)
        if page is None:
            self.stopped_at = max(first, self.start)
        elif key.level == 0:
            for low, high in _runs(self._wanted(page, end - first)):
                if first + high >= self.start:
                    yield max(first + low, self.start), first + high
        else:
            yield from self._children(key, page)

    def _children(self, key: PageKey, page: Page) -> Iterator[Stretch]:
        first = key.number * self.batch.shape.fanout
        below = [
            PageKey(self.batch.key, key.level - 1, first + bit) for bit in range(self.batch.shape.fanout)
        ]
        below = [
            child
            for child in below
            if capacity(child.level, child.number, self.batch.total, self.batch.shape)
        ]
        worth = [child for child in below if page.is_worth(child.number - first, self.failures)]
        for at, child in enumerate(worth):
            if at % READ_AHEAD == 0:
                self._look_ahead(worth[at : at + READ_AHEAD])
            yield from self._under(child)

    def _wanted(self, page: Page, size: int) -> int:
        """The bits of a leaf that are looked for."""
        return page.failed if self.failures else page.unset((1 << size) - 1)

    def _look_ahead(self, keys: list[PageKey]) -> None:
        width = self.batch.shape.width(keys[0].level)
        keys = [key for key in keys if (key.number + 1) * width > self.start][: max(self.budget, 0)]
        found = self.store.pages(keys)
        self.budget -= len(keys)
        self._ahead |= {key: found.get(key, Page()) for key in keys}

    def _read(self, key: PageKey) -> Page | None:
        """The page, or None where the budget of this walk is used up."""
        if key not in self._ahead:
            if self.budget <= 0:
                return None
            self.budget -= 1
            self._ahead[key] = self.store.pages([key]).get(key, Page())
        return self._ahead.pop(key)


def slice_of(store: TrackerStore, batch: Batch, start: int, limit: int, failures: bool) -> Slice:
    """At most *limit* ranges (1 or more) of what is outstanding, or failed, from the item *start* on."""
    walk = Walk(store, batch, start, failures)
    found: list[Stretch] = []
    for low, high in walk.stretches():
        if found and found[-1][1] + 1 == low:
            found[-1] = (found[-1][0], high)
        elif len(found) == limit:
            walk.stopped_at = low
            break
        else:
            found.append((low, high))
    parts = list(islice((part for stretch in found for part in _by_group(store, batch, stretch)), limit + 1))
    resume = parts[limit][0] if len(parts) > limit else walk.stopped_at
    return Slice(tuple(part for _, part in parts[:limit]), resume)


def _by_group(store: TrackerStore, batch: Batch, stretch: Stretch) -> Iterator[tuple[int, ItemRange]]:
    """A stretch of the batch's items in the words of its groups, each part with its first item."""
    low, high = stretch
    while low <= high:
        groups = store.groups(batch.key, low, 100)
        for start, group in groups:
            if start > high:
                return
            yield low, ItemRange(group.id, low - start, min(high, start + group.upto - 1) - start)
            low = start + group.upto
        if not groups:
            return


def _runs(mask: int) -> list[Stretch]:
    """The runs of set bits in *mask*, as (first, last)."""
    bits = [at for at in range(mask.bit_length()) if mask >> at & 1]
    if not bits:
        return []
    starts = [bits[0], *(after for before, after in pairwise(bits) if after != before + 1)]
    ends = [*(before for before, after in pairwise(bits) if after != before + 1), bits[-1]]
    return list(zip(starts, ends, strict=True))
