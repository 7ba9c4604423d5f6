"""Walk down the tree to find outstanding or failed items as ranges, a part at a time.

A full subtree is skipped in one step: the number of pages that are read grows with what is unfinished, and
not with the batch. A walk goes level by level, reads a bounded number of pages, and returns the item to
continue from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from fanin.tracker.model import Batch, Group, ItemRange, PageKey, Slice
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from fanin.tracker.tree import capacity, height

PAGES_A_WALK = 100
"""Pages that one walk reads at most; a walk that stops early returns the item to continue from."""
PARENTS_A_READ = 10
LEAVES_A_READ = 50
GROUPS_A_LOOK = 1_000
LOOKS_A_WALK = 4
"""One look finds the groups of all ranges, unless more than 1,000 groups begin between the first and the
last of them; a walk that needs more looks than this stops early."""

Stretch = tuple[int, int]
Part = tuple[int, ItemRange]
"""A range of a group, with the position of its first item in the batch."""


@dataclass(slots=True)
class Walk:
    """One walk over a batch, from the item *start* on. *stopped_at*: the first item it did not get to."""

    store: TrackerStore
    batch: Batch
    start: int
    failures: bool
    budget: int
    stopped_at: int | None = None

    def stretches(self) -> Iterator[Stretch]:
        """Yield the items found, as (first, last) of the batch, in order; neighbours may touch."""
        if self.batch.total <= self.start:
            return
        level = height(self.batch.total, self.batch.shape)
        keys = [PageKey(self.batch.key, level, 0)]
        while level:
            keys = self._below(keys, level)
            level -= 1
        for pages in self._read(keys, 0, LEAVES_A_READ):
            for key, page in pages.items():
                first = self._first(key)
                for low, high in runs(self._wanted(page, self._capacity(key))):
                    if first + high >= self.start:
                        yield max(first + low, self.start), first + high

    def _below(self, keys: Sequence[PageKey], level: int) -> list[PageKey]:
        """Return the pages to read below *keys*, in order, until they use up the budget of the walk."""
        below: list[PageKey] = []
        for pages in self._read(keys, level, PARENTS_A_READ):
            below += (child for key, page in pages.items() for child in self._children(key, page))
            if len(below) > self.budget:
                break
        return below

    def _read(self, keys: Sequence[PageKey], level: int, at_once: int) -> Iterator[Mapping[PageKey, Page]]:
        """Yield the first of the pages, *at_once* in a request; each level below keeps a share of the budget.

        The walk stops at the first page that was left out, here or at the level above.
        """
        share, above = max(1, self.budget // (level + 1)), self.stopped_at
        for at in range(0, min(len(keys), share), at_once):
            upto = min(at + at_once, share)
            some = keys[at:upto]
            found = self.store.pages(some)
            self.budget -= len(some)
            self.stopped_at = max(self._first(keys[upto]), self.start) if upto < len(keys) else above
            yield {key: found.get(key, Page()) for key in some}

    def _children(self, key: PageKey, page: Page) -> Iterator[PageKey]:
        """Yield the pages below *key* that may hold such items, from the start on."""
        first = key.number * self.batch.shape.fanout
        for bit in range(self.batch.shape.fanout):
            child = PageKey(self.batch.key, key.level - 1, first + bit)
            size = self._capacity(child)
            if size and page.is_worth(bit, self.failures) and self._first(child) + size > self.start:
                yield child

    def _first(self, key: PageKey) -> int:
        return key.number * self.batch.shape.width(key.level)

    def _capacity(self, key: PageKey) -> int:
        return capacity(key.level, key.number, self.batch.total, self.batch.shape)

    def _wanted(self, page: Page, size: int) -> int:
        """Return the bits of a leaf, of its first *size*, that are outstanding, or that failed.

        A leaf can have marks beyond the total: of items that were added since the batch was read.
        """
        inside = (1 << size) - 1
        return page.failed & inside if self.failures else page.unset(inside)


def slice_of(store: TrackerStore, batch: Batch, start: int, limit: int, failures: bool) -> Slice:
    """Return at most *limit* ranges (1 or more) of outstanding or failed items, from the item *start* on."""
    walk = Walk(store, batch, start, failures, PAGES_A_WALK)
    found: list[Stretch] = []
    for low, high in walk.stretches():
        if found and found[-1][1] + 1 == low:
            found[-1] = (found[-1][0], high)
        elif len(found) == limit:
            walk.stopped_at = low
            break
        else:
            found.append((low, high))
    parts, resume = _by_group(store, batch, found, limit)
    return Slice(tuple(part for _, part in parts), walk.stopped_at if resume is None else resume)


def ranges_of(
    store: TrackerStore, batch: Batch, stretches: Sequence[Stretch], start: int, limit: int
) -> Slice:
    """Return at most *limit* ranges of *stretches*, which are in order, from the item *start* on."""
    left = _from(stretches, start)
    parts, resume = _by_group(store, batch, left[:limit], limit)
    if resume is None and len(left) > limit:
        resume = left[limit][0]
    return Slice(tuple(part for _, part in parts), resume)


def joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return *stretches*, which are in order, with neighbours joined."""
    found: list[Stretch] = []
    for low, high in stretches:
        if found and found[-1][1] + 1 == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def _by_group(
    store: TrackerStore, batch: Batch, stretches: Sequence[Stretch], limit: int
) -> tuple[list[Part], int | None]:
    """Return at most *limit* ranges of groups that make up *stretches*, and the first item left out."""
    parts: list[Part] = []
    left = list(stretches)
    for _ in range(LOOKS_A_WALK):
        if not left:
            return parts, None
        groups = store.groups(batch.key, left[0][0], left[-1][1], GROUPS_A_LOOK)
        parts += _cut(left, groups)
        if len(parts) > limit:
            return parts[:limit], parts[limit][0]
        if len(groups) < GROUPS_A_LOOK:
            return parts, None
        last, group = groups[-1]
        left = _from(left, last + group.upto)
    return parts, left[0][0] if left else None


def _cut(stretches: Sequence[Stretch], groups: Sequence[tuple[int, Group]]) -> Iterator[Part]:
    """Yield the ranges of *groups* that lie in *stretches*; both are in order."""
    at = 0
    for low, high in stretches:
        while at < len(groups) and groups[at][0] + groups[at][1].upto <= low:
            at += 1
        for start, group in islice(groups, at, None):
            if start > high:
                break
            first, last = max(low, start), min(high, start + group.upto - 1)
            yield first, ItemRange(group.id, first - start, last - start)


def _from(stretches: Sequence[Stretch], item: int) -> list[Stretch]:
    """Return the parts of *stretches* at *item* or after it."""
    return [(max(low, item), high) for low, high in stretches if high >= item]


def runs(mask: int) -> list[Stretch]:
    """Return the runs of set bits in *mask*, as (first, last)."""
    bits = [at for at in range(mask.bit_length()) if mask >> at & 1]
    if not bits:
        return []
    starts = [bits[0], *(after for before, after in pairwise(bits) if after != before + 1)]
    ends = [*(before for before, after in pairwise(bits) if after != before + 1), bits[-1]]
    return list(zip(starts, ends, strict=True))
