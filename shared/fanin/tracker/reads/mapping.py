"""A map of a batch: how many items of each of at most 1,024 cells are acked, and which cells have failures.

The walk goes from the root down, level by level. A page that the edge of a cell cuts is read. Of the pages
that lie in one cell, a random one of each of some equal stretches is read and stands for the others, so at
most ``cells`` + 1,024 pages of a level are read, whatever the size of the batch. The batch's id is the seed,
so that a map that is read again differs by what was acked since. Below a page above the leaves that is not
stored nothing was acked. A map shows and decides nothing: its reads are eventually consistent, and items that
are added meanwhile are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from random import Random
from typing import NamedTuple

from fanin.errors import InvalidRequest
from fanin.tracker.reads.page_sampling import SAMPLE_MIN, Part, fair_shares, period_of, spaced, weights_of
from fanin.tracker.rules.ids import TOTAL_MAX
from fanin.tracker.rules.model import Batch, PageKey
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page, mask_of
from fanin.tracker.rules.tree import capacity, height
from fanin.tracker.store import TrackerStore

CELLS_MAX = 1024
SPARE_PAGES = 1024
"""Pages of a level that are read at most beyond the number of cells."""
Look = Callable[[Collection[PageKey], bool], Mapping[PageKey, Page]]
"""Reads pages of a store, with or without their bits."""


@dataclass(frozen=True, slots=True)
class BatchMap:
    """The items *start* to *stop* (exclusive) of a batch, in cells of *cell_items*; the last may be shorter.

    *acked*: how many items of each cell are done; *failed*: whether the cell has failed items. *exact*:
    whether every page was read that counts; if not, some numbers are estimates.
    """

    start: int
    stop: int
    cell_items: int
    acked: tuple[int, ...]
    failed: tuple[bool, ...]
    exact: bool


@dataclass(slots=True)
class Cell:
    """The items *low* to *high* (exclusive): found *acked*, the *estimate*, and *unknown* in unread pages."""

    low: int
    high: int
    acked: float = 0
    estimate: float = 0
    unknown: int = 0
    failed: bool = False

    def count(self, items: float, weight: float) -> None:
        """Count acked *items*, which stand for *weight* times as many."""
        self.acked += items
        self.estimate += items * weight

    @property
    def shown(self) -> int:
        """The estimate, within what is known."""
        return round(min(max(self.estimate, self.acked), self.acked + self.unknown))


class Inside(NamedTuple):
    """The number of a page that lies in one *cell*, and how many pages it stands for, itself among them."""

    number: int
    cell: int
    weight: float


@dataclass(slots=True)
class Below:
    """Pages of a level to look at: those that edges of cells *cut*, those inside cells as *parts*.

    *marked*: full pages, each with its cell, of which the page above says that they had failures.
    """

    cut: list[int] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    marked: list[tuple[int, int]] = field(default_factory=list)


def mapped(
    store: TrackerStore, batch: Batch, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None
) -> BatchMap:
    """Return the map of the items *start* to *stop* (exclusive) of the batch, in at most *cells* cells.

    What lies beyond the total of the batch is left out. Raises InvalidRequest for arguments out of bounds.
    """
    _check(cells, start, stop)
    stop = batch.total if stop is None else min(stop, batch.total)
    start = min(start, stop)
    width = cell_items(batch, stop - start, cells)
    drawn = [Cell(low, min(low + width, stop)) for low in range(start, stop, width)]
    all_done = batch.is_done
    if drawn and (batch.failed or not all_done):
        Walk(store.glance, batch, width, drawn, cells + SPARE_PAGES, SPARE_PAGES).run()
    acked = tuple(cell.high - cell.low if all_done else cell.shown for cell in drawn)
    known = batch.mode is Mode.EXACT and not any(cell.unknown for cell in drawn)
    return BatchMap(start, stop, width, acked, tuple(cell.failed for cell in drawn), all_done or known)


def _check(cells: int, start: int, stop: int | None) -> None:
    if not 1 <= cells <= CELLS_MAX:
        raise InvalidRequest(f"a map has 1 to {CELLS_MAX} cells", field="cells")
    if not 0 <= start < TOTAL_MAX:
        raise InvalidRequest("a map begins at an item of the batch, which are numbered from 0", field="from")
    if stop is not None and not start < stop <= TOTAL_MAX:
        raise InvalidRequest("a map ends after the item that it begins at; its end is exclusive", field="to")


def cell_items(batch: Batch, items: int, cells: int) -> int:
    """Return the items of a cell: as few as *cells* cells allow, in whole leaves or an even part of one.

    A counter of an estimated batch is not divided.
    """
    least, leaf = max(1, -(-items // cells)), batch.shape.leaf
    if least > leaf or batch.mode is Mode.ESTIMATED:
        return -(-least // leaf) * leaf
    return min(leaf, 1 << (least - 1).bit_length())


@dataclass(slots=True)
class Walk:
    """Fills *cells*, each of *width* items, from at most *most* pages of a level, or from *spare* of more."""

    look: Look
    batch: Batch
    width: int
    cells: Sequence[Cell]
    most: int
    spare: int
    random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = Random(self.batch.batch_id)  # a sample, always the same one

    def run(self) -> None:
        """Walk from the root to the leaves."""
        root = height(self.batch.total, self.batch.shape)
        below = Below(parts=[Part(0, 0, 1, 1.0, self.batch.total)])
        if self._is_cut(root, 0):
            below = Below(cut=[0])
        for level in range(root, -1, -1):
            inside = self._chosen(level, below)
            marked = self._followed(below.marked, self.most - len(below.cut) - len(inside))
            if level:
                below = self._parents(level, below.cut, inside, marked)
            else:
                self._leaves(below, inside, marked)

    def _chosen(self, level: int, below: Below) -> list[Inside]:
        """Return the pages inside cells that are read: all if they are few enough, else the spare ones.

        Of these each cell has its share.
        """
        pages = sum(part.pages for part in below.parts)
        most = pages if pages <= self.most - len(below.cut) else self.spare
        by_cell = groupby(sorted(below.parts, key=attrgetter("cell")), key=attrgetter("cell"))
        groups = [list(parts) for _, parts in by_cell]
        shares = fair_shares([sum(part.pages for part in parts) for parts in groups], most)
        return [
            page
            for parts, share in zip(groups, shares, strict=True)
            for page in self._thinned(level, parts, share)
        ]

    def _thinned(self, level: int, parts: Sequence[Part], most: int) -> list[Inside]:
        """Return at most *most* pages of a cell, one of each stretch, which stand for the others too."""
        if sum(part.pages for part in parts) <= most:
            return [Inside(number, part.cell, part.weight) for part in parts for number in part.numbers]
        chosen = [
            Inside(number, part.cell, part.weight * pages)
            for part, number, pages in spaced(parts, most, self.random)
        ]
        read = [self._capacity(level, page.number) for page in chosen]
        self.cells[parts[0].cell].unknown += sum(part.items for part in parts) - sum(read)
        weighed = sum(page.weight * items for page, items in zip(chosen, read, strict=True))
        scale = sum(part.weight * part.items for part in parts) / weighed
        return [page._replace(weight=page.weight * scale) for page in chosen]

    def _followed(self, marked: Sequence[tuple[int, int]], pages_left: int) -> list[tuple[int, int]]:
        """Return the full pages to read for their failures alone.

        If they are more than the *pages_left* to read, their marks count, though later successes may have
        healed what they stand for.
        """
        asked = [(number, cell) for number, cell in marked if not self.cells[cell].failed]
        if len(asked) <= pages_left:
            return asked
        for _, cell in asked:
            self.cells[cell].failed = True
        return []

    def _parents(
        self, level: int, cut: Sequence[int], inside: Sequence[Inside], marked: Sequence[tuple[int, int]]
    ) -> Below:
        """Count what is full under the pages of *level*, and return what is below them to look at.

        A full page can have marks of children beyond the total: of items that were added since it was read.
        """
        numbers = (*cut, *(page.number for page in inside), *(number for number, _ in marked))
        pages, below = self._read(level, numbers), Below()
        for number in (each for each in cut if each in pages):
            self._cut(level, number, pages[number], below)
        for number, cell, weight in (page for page in inside if page.number in pages):
            self._count(level, number, pages[number], self._children(level, number, cell, weight), below)
        for number, cell in marked:
            counted = self._children(level, number, cell, 0.0).mask
            self._mark(number, cell, pages[number].failed & counted, below)
        return below

    def _cut(self, level: int, number: int, page: Page, below: Below) -> None:
        """Count the children of a page that the edge of a cell cuts; those that are cut, too, one by one."""
        for cell in self._cells_of(level, number):
            part = self._children(level, number, cell, 1.0)
            if part.mask:
                self._count(level, number, page, part, below)
        first = number * self.batch.shape.fanout
        for child in self._cut_children(level, number):
            if page.is_worth(child - first, False) or (
                self.batch.failed and page.failed >> child - first & 1
            ):
                below.cut.append(child)
                continue
            for cell in self._cells_of(level - 1, child):
                low, high = self._overlap(level - 1, child, cell)
                self.cells[cell].count(high - low, 1.0)

    def _count(self, level: int, number: int, page: Page, part: Part, below: Below) -> None:
        """Count the full pages of *part*, which lie under *page*, and add the others to *below*."""
        full = part.mask if page.compacted else part.mask & page.bits
        acked = self._items(level - 1, part.base, full)
        self.cells[part.cell].count(acked, part.weight)
        if partial := part.mask & ~full:
            below.parts.append(Part(part.cell, part.base, partial, part.weight, part.items - acked))
        self._mark(number, part.cell, page.failed & full, below)

    def _mark(self, number: int, cell: int, failed: int, below: Below) -> None:
        """Add the children of a page whose bits are *failed* to those to look at for their failures."""
        if failed and self.batch.failed:
            part = Part(cell, number * self.batch.shape.fanout, failed, 0.0, 0)
            below.marked += ((child, cell) for child in part.numbers)

    def _leaves(self, below: Below, inside: Sequence[Inside], marked: Sequence[tuple[int, int]]) -> None:
        """Count the items of leaves: bits where an edge cuts a leaf, else its own count."""
        whole = [page.number for page in inside if self._is_whole(page.number)]
        short = [page.number for page in inside if not self._is_whole(page.number)]
        pages = self._read(0, (*whole, *(number for number, _ in marked)), False)
        pages |= self._read(0, (*below.cut, *short))
        for number in below.cut:
            for cell in self._cells_of(0, number):
                self._count_leaf(number, pages[number], cell, 1.0)
        for number, cell, weight in self._weighed(below.parts, inside, pages):
            if self._is_whole(number):
                self.cells[cell].count(min(pages[number].n, self.batch.shape.leaf), weight)
                self.cells[cell].failed |= bool(pages[number].failed and self.batch.failed)
            else:
                self._count_leaf(number, pages[number], cell, weight)
        for number, cell in marked:
            self.cells[cell].failed |= bool(pages[number].failed & self._mask(number, cell))

    def _weighed(
        self, parts: Sequence[Part], inside: Sequence[Inside], pages: Mapping[int, Page]
    ) -> Iterable[Inside]:
        """Yield the leaves *inside* cells, in a large sample of a cell by the period of what was acked."""
        for cell, some in groupby(inside, key=attrgetter("cell")):
            sample = list(some)
            own = [part for part in parts if part.cell == cell] if len(sample) >= SAMPLE_MIN else []
            if sum(part.pages for part in own) > len(sample):
                sample = self._by_period(own, sample, pages)
            yield from sample

    def _by_period(
        self, parts: Sequence[Part], sample: Sequence[Inside], pages: Mapping[int, Page]
    ) -> list[Inside]:
        """Return the leaves of a sample, which weigh as many as have their residue if there is a period."""
        numbers = [page.number for page in sample]
        period = period_of(numbers, [pages[number].n / self.batch.shape.leaf for number in numbers])
        if period is None:
            return list(sample)
        weights = weights_of(period, parts, numbers, [page.weight for page in sample])
        return [page._replace(weight=weight) for page, weight in zip(sample, weights, strict=True)]

    def _count_leaf(self, number: int, page: Page, cell: int, weight: float) -> None:
        """Count the items of a leaf that lie in a cell; a counter is taken to be spread evenly."""
        low, high = self._overlap(0, number, cell)
        mask, items = self._mask(number, cell), self._capacity(0, number)
        acked: float = high - low if page.compacted else (page.bits & mask).bit_count()
        if self.batch.mode is Mode.ESTIMATED:
            acked = min(page.n, items) * (high - low) / items
        self.cells[cell].count(acked, weight)
        self.cells[cell].failed |= bool(page.failed & mask and self.batch.failed)

    def _mask(self, number: int, cell: int) -> int:
        """Return the bits of a leaf whose items lie in a cell: those of items beyond the total do not."""
        first = number * self.batch.shape.leaf
        low, high = self._overlap(0, number, cell)
        return mask_of(low - first, high - 1 - first)

    def _read(self, level: int, numbers: Iterable[int], bits: bool = True) -> dict[int, Page]:
        """Return pages of a level by their numbers, but those below which nothing was acked.

        One that is not stored is empty.
        """
        keys = {number: PageKey(self.batch.key, level, number) for number in numbers}
        found: Mapping[PageKey, Page] = self.look(keys.values(), bits) if keys else {}
        begun = {number: key for number, key in keys.items() if key in found or not key.is_prepared}
        return {number: found.get(key, Page()) for number, key in begun.items()}

    def _children(self, level: int, number: int, cell: int, weight: float) -> Part:
        """Return the children of a page of *level* that lie in *cell* as a whole."""
        child = self.batch.shape.width(level - 1)
        low, high = self._overlap(level, number, cell)
        first, end = -(-low // child), high // child if high < self.batch.total else -(-high // child)
        base = number * self.batch.shape.fanout
        mask = mask_of(first - base, end - 1 - base) if first < end else 0
        return Part(cell, base, mask, weight, self._items(level - 1, base, mask))

    def _cut_children(self, level: int, number: int) -> Sequence[int]:
        """Return the children of a page of *level* that the edge of a cell cuts."""
        child, found = self.batch.shape.width(level - 1), set()
        for cell in self._cells_of(level, number):
            low, high = self._overlap(level, number, cell)
            found |= {edge // child for edge in (low, high) if edge % child and edge < self.batch.total}
        return sorted(found)

    def _cells_of(self, level: int, number: int) -> range:
        """Return the cells that a page reaches into."""
        low = number * self.batch.shape.width(level)
        high = min(low + self._capacity(level, number), self.cells[-1].high)
        return range(self._cell_of(max(low, self.cells[0].low)), self._cell_of(high - 1) + 1)

    def _cell_of(self, item: int) -> int:
        return (item - self.cells[0].low) // self.width

    def _overlap(self, level: int, number: int, cell: int) -> tuple[int, int]:
        """Return the items of a page that lie in a cell, the last one exclusive."""
        low = number * self.batch.shape.width(level)
        high = low + self._capacity(level, number)
        return max(low, self.cells[cell].low), min(high, self.cells[cell].high)

    def _is_cut(self, level: int, number: int) -> bool:
        low = number * self.batch.shape.width(level)
        cells, high = self._cells_of(level, number), low + self._capacity(level, number)
        return len(cells) > 1 or low < self.cells[0].low or high > self.cells[-1].high

    def _is_whole(self, number: int) -> bool:
        """Whether the count of a leaf is that of its cell's items: items beyond the total may be acked."""
        return self.batch.mode is Mode.EXACT and self._capacity(0, number) == self.batch.shape.leaf

    def _items(self, level: int, base: int, mask: int) -> int:
        """Return how many items lie under the pages of *mask*, whose bit 0 is the page *base*."""
        width = self.batch.shape.width(level)
        last = (self.batch.total - 1) // width
        short = width - self._capacity(level, last) if last >= base and mask >> last - base & 1 else 0
        return mask.bit_count() * width - short

    def _capacity(self, level: int, number: int) -> int:
        return capacity(level, number, self.batch.total, self.batch.shape)
