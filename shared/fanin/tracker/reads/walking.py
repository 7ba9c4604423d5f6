"""Walk down the tree to find outstanding or failed items as ranges, a part at a time.

A full page is skipped in one step, and so is one below which nothing was acked: a page above the leaves is
stored before anything below it. Only pages with a part of their items done are looked into, so what a list
reads grows with its ranges, and not with the batch. A walk goes level by level, reads a bounded number of
pages, and returns the item to continue from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from fanin.tracker.rules.model import Batch, Group, ItemRange, PageKey, Slice
from fanin.tracker.rules.page import Page, lowest
from fanin.tracker.rules.tree import capacity, height

if TYPE_CHECKING:
    from fanin.tracker.store import TrackerStore

T = TypeVar("T")
PAGES_A_WALK = 2_048
"""Pages that one walk reads at most; a walk that stops early returns the item to continue from.

Each edge of a range lies in one page of each level. So a list whose every part takes as many pages has at
most 10 parts and 2 for each range, in batches of up to 2^40 items with pages of 1,024: below an edge there
are two levels of 1,024 pages each to look at, above it at most 1,024 pages of the highest one.
"""
PAGES_A_READ = 100
GROUPS_A_LOOK = 1_000
LOOKS_A_WALK = 4
"""One look finds the groups of all ranges, unless more than 1,000 groups begin between the first and the
last of them; a walk that needs more looks than this stops early."""

Stretch = tuple[int, int]
"""The items of a batch from the first to the last one, both inclusive."""
Piece = PageKey | Stretch
"""A page to read, or items that were found without reading more."""
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
        """Yield the items found as stretches in order, which do not touch; read nothing if there are none."""
        is_empty = not self.batch.failed if self.failures else self.batch.is_done
        if is_empty or self.batch.total <= self.start:
            return
        level = height(self.batch.total, self.batch.shape)
        pieces: Sequence[Piece] = [PageKey(self.batch.key, level, 0)]
        while level:
            pieces = self._below(pieces, level)
            level -= 1
        yield from joined(self._leaf_stretches(pieces), adjacent)

    def _leaf_stretches(self, pieces: Sequence[Piece]) -> Iterator[Stretch]:
        """Yield the stretches of *pieces*, whose pages are leaves."""
        for piece, page in self._read(pieces, 0):
            if not isinstance(piece, PageKey):
                yield piece
                continue
            first = self._first(piece)
            for low, high in runs(self._wanted(page or Page(), self._capacity(piece))):
                if first + high >= self.start:
                    yield max(first + low, self.start), first + high

    def _below(self, pieces: Sequence[Piece], level: int) -> list[Piece]:
        """Return *pieces* with the pages of *level* replaced by what lies below them.

        After more pages to read than the budget of the walk, the others are left out.
        """
        below: list[Piece] = []
        unread = 0
        for piece, page in self._read(pieces, level):
            found = list(self._opened(piece, page)) if isinstance(piece, PageKey) else [piece]
            below += found
            unread += sum(isinstance(each, PageKey) for each in found)
            if unread > self.budget:
                break
        return below

    def _opened(self, key: PageKey, page: Page | None) -> Iterator[Piece]:
        """Yield what lies below *key*: pages that may hold such items, or all of it if nothing was acked."""
        if page is None and key.is_prepared:
            last = self._first(key) + self._capacity(key) - 1
            if not self.failures and last >= self.start:
                yield max(self._first(key), self.start), last
        elif not self.failures or not key.is_prepared or (page or Page()).failing:
            yield from self._children(key, page or Page())

    def _read(self, pieces: Sequence[Piece], level: int) -> Iterator[tuple[Piece, Page | None]]:
        """Yield the first *pieces*, each page as it is stored; each level below keeps a share of the budget.

        The walk stops at the first page that was left out, here or at the level above.
        """
        keys = [piece for piece in pieces if isinstance(piece, PageKey)]
        share = max(1, self.budget // (level + 1))
        if len(keys) > share:
            self.stopped_at = max(self._first(keys[share]), self.start)
            pieces = pieces[: pieces.index(keys[share])]
        unread, stored = iter(keys[:share]), {}
        for piece in pieces:
            if isinstance(piece, PageKey) and piece not in stored:
                some = list(islice(unread, PAGES_A_READ))
                self.budget -= len(some)
                found = self.store.pages(some)
                stored = {key: found.get(key) for key in some}
            yield piece, stored[piece] if isinstance(piece, PageKey) else None

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
    for stretch in walk.stretches():
        if len(found) == limit:
            walk.stopped_at = stretch[0]
            break
        found.append(stretch)
    parts, resume = _by_group(store, batch, found, limit)
    return Slice(tuple(part for _, part in parts), walk.stopped_at if resume is None else resume)


def ranges_of(
    store: TrackerStore, batch: Batch, stretches: Sequence[Stretch], start: int, limit: int
) -> Slice:
    """Return at most *limit* ranges of *stretches*, which are in order, from the item *start* on."""
    remaining = _from(stretches, start)
    parts, resume = _by_group(store, batch, remaining[:limit], limit)
    if resume is None and len(remaining) > limit:
        resume = remaining[limit][0]
    return Slice(tuple(part for _, part in parts), resume)


def joined(parts: Iterable[T], join: Callable[[T, T], T | None]) -> Iterator[T]:
    """Yield *parts* in order, neighbours joined: *join* returns two as one, or None if they stay apart."""
    before: T | None = None
    for part in parts:
        both = part if before is None else join(before, part)
        if both is None and before is not None:
            yield before
        before = part if both is None else both
    if before is not None:
        yield before


def adjacent(one: Stretch, other: Stretch) -> Stretch | None:
    """Return two stretches, of which the second begins no earlier, as one; None if items lie between them."""
    return (one[0], max(one[1], other[1])) if other[0] <= one[1] + 1 else None


def _by_group(
    store: TrackerStore, batch: Batch, stretches: Sequence[Stretch], limit: int
) -> tuple[list[Part], int | None]:
    """Return at most *limit* ranges of groups that make up *stretches*, and the first item left out."""
    parts: list[Part] = []
    remaining = list(stretches)
    for _ in range(LOOKS_A_WALK):
        if not remaining:
            return parts, None
        groups = store.groups(batch.key, remaining[0][0], remaining[-1][1], GROUPS_A_LOOK)
        parts += _cut(remaining, groups)
        if len(parts) > limit:
            return parts[:limit], parts[limit][0]
        if len(groups) < GROUPS_A_LOOK:
            return parts, None
        last, group = groups[-1]
        remaining = _from(remaining, last + group.upto)
    return parts, remaining[0][0] if remaining else None


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
    found: list[Stretch] = []
    at = 0
    while mask:
        at += lowest(mask)
        mask >>= lowest(mask)
        length = lowest(~mask)
        found.append((at, at + length - 1))
        at, mask = at + length, mask >> length
    return found
