"""Batches of any size whose items are given as ranges; a page is made when it is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from fanin.tracker import Batch
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.rules.tree import capacity

Ranges = Sequence[tuple[int, int]]


class Spans:
    """Ranges of items, both ends inclusive, in order; counts those in a part of the batch."""

    def __init__(self, ranges: Ranges) -> None:
        self.starts = [first for first, _ in ranges]
        self.ends = [last for _, last in ranges]
        self._before = [0, *accumulate(last - first + 1 for first, last in ranges)]

    def count(self, first: int, last: int) -> int:
        """How many of the items lie between *first* and *last*, both inclusive."""
        return self._upto(last) - self._upto(first - 1)

    def mask(self, first: int, last: int) -> int:
        """The items between *first* and *last* as bits."""
        found = 0
        at = bisect_right(self.ends, first - 1)
        while at < len(self.starts) and self.starts[at] <= last:
            low, high = max(self.starts[at], first) - first, min(self.ends[at], last) - first
            found |= (1 << high - low + 1) - 1 << low
            at += 1
        return found

    def _upto(self, item: int) -> int:
        at = bisect_right(self.starts, item)
        beyond = max(0, self.ends[at - 1] - item) if at else 0
        return self._before[at] - beyond


@dataclass
class LaidOut(MemoryStore):
    """A store with one *laid* batch: all its items are acked but the *outstanding*, and the *broken* failed.

    *reads*: the number of pages of each request.
    """

    laid: Batch | None = None
    outstanding: Spans = field(default_factory=lambda: Spans([]))
    broken: Spans = field(default_factory=lambda: Spans([]))
    reads: list[int] = field(default_factory=list)

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        self.reads.append(len(keys))
        pages = {key: self._page_at(key) for key in keys}
        return {key: page for key, page in pages.items() if page is not None}

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        return self.pages(keys)

    def _page_at(self, key: PageKey) -> Page | None:
        """The page as the acks of the items below it leave it; None if none was acked."""
        first, size = self._items(key)
        outstanding = self.outstanding.count(first, first + size - 1)
        if outstanding == size:
            return None
        failing = key.is_prepared and self.broken.count(first, first + size - 1) > 0
        if not outstanding:
            return Page(n=self._entries(key), compacted=True, failed=self._marks(key), failing=failing)
        bits = self._full(key)
        return Page(bits, bits.bit_count(), failed=self._marks(key) & bits, failing=failing)

    def _full(self, key: PageKey) -> int:
        """The acked items of a leaf, or the full children of a page above, as bits."""
        first, size = self._items(key)
        if key.is_leaf:
            return (1 << size) - 1 & ~self.outstanding.mask(first, first + size - 1)
        return _mask(not self.outstanding.count(*items) for items in self._below(key))

    def _marks(self, key: PageKey) -> int:
        """The failed items of a leaf, or the children of a page above that have some, as bits."""
        first, size = self._items(key)
        if not self.broken.count(first, first + size - 1):
            return 0
        if key.is_leaf:
            return self.broken.mask(first, first + size - 1)
        return _mask(self.broken.count(*items) for items in self._below(key))

    def _below(self, key: PageKey) -> list[tuple[int, int]]:
        """The items of each child of a page, both ends inclusive."""
        assert self.laid is not None
        width = self.laid.shape.width(key.level - 1)
        first, size = self._items(key)
        return [(low, min(low + width, first + size) - 1) for low in range(first, first + size, width)]

    def _entries(self, key: PageKey) -> int:
        return self._items(key)[1] if key.is_leaf else len(self._below(key))

    def _items(self, key: PageKey) -> tuple[int, int]:
        """The first item under a page, and how many there are."""
        assert self.laid is not None
        size = capacity(key.level, key.number, self.laid.total, self.laid.shape)
        return key.number * self.laid.shape.width(key.level), size


def _mask(children: Iterable[object]) -> int:
    return sum(1 << at for at, child in enumerate(children) if child)
