"""Batches of any size in which work has gone on in five shapes, for what reads their pages.

A page is stored when it is read for the first time: as the acks of its items, or of the pages below it, have
left it. All pages above the leaves are stored, as where something was acked below each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from math import sqrt
from struct import Struct
from zlib import crc32

from fanin.aws.dynamodb.rows import number, text
from fanin.tracker import Batch, Mode, TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page, digits
from fanin.tracker.rules.tree import Shape, capacity
from tests.contract.tables import TABLES

Share = Callable[[float], float]
"""The part of a page's items that is acked, by the place of the page in the batch, from 0 to 1."""


def drawn(place: float) -> float:
    """A number from 0 to 1 that looks drawn at random, always the same for a place."""
    return crc32(PLACE.pack(place)) / 2**32


PLACE = Struct("d")


def scattered(place: float) -> float:
    """All items, but 30 % of those of 0.2 % of the pages."""
    return 0.3 if crc32(PLACE.pack(place), 1) / 2**32 < 0.002 else 1.0


SHAPES: dict[str, tuple[Share, float]] = {
    "in order, 40 %": (lambda place: float(place < 0.4), 0.4),
    "in order, 40 %, 1 % of it missing": (lambda place: 0.99 * (place < 0.4), 0.396),
    "at random, 50 %": (lambda place: 0.5, 0.5),
    "99 %, the rest scattered": (lambda place: 0.99, 0.99),
    "all but 0.2 % of the pages": (scattered, 0.9986),
}
"""Each with the part of all items that is acked; the share of all but the last one never rises."""


@dataclass
class Acked:
    """A batch of which each leaf has its share of acked items; what the pages of its tree hold then."""

    batch: Batch
    share: Share
    _full: dict[tuple[int, int], bool] = field(default_factory=dict)

    def count(self, leaf: int) -> int:
        """How many items of a leaf are acked: its share, and some more or less."""
        share, items = self.share_of(leaf), self.items(0, leaf)
        wavering = (drawn(leaf) - 0.5) * sqrt(12 * items * share * (1 - share))
        return min(max(round(items * share + wavering), 0), items - (share < 1.0))

    def items(self, level: int, page: int) -> int:
        return capacity(level, page, self.batch.total, self.shape)

    @cached_property
    def shape(self) -> Shape:
        return self.batch.shape

    def share_of(self, leaf: int) -> float:
        return self.share(leaf * self.shape.leaf / self.batch.total)

    def is_full(self, level: int, page: int) -> bool:
        if level == 0:
            return self.share_of(page) == 1.0
        if (level, page) not in self._full:
            below = self.below(level, page)
            self._full[level, page] = all(
                self._full_of(below) if level == 1 else (self.is_full(level - 1, child) for child in below)
            )
        return self._full[level, page]

    def below(self, level: int, page: int) -> range:
        """The pages under a page."""
        first, pages = (
            page * self.shape.fanout,
            -(-self.batch.total // self.shape.width(level - 1)),
        )
        return range(first, min(first + self.shape.fanout, pages))

    def page(self, key: PageKey) -> Page:
        if key.level == 0:
            n = self.count(key.number)
            return Page((1 << n) - 1 if self.batch.mode is Mode.EXACT else 0, n)
        below = self.below(key.level, key.number)
        above = (self.is_full(key.level - 1, child) for child in below)
        full = above if key.level > 1 else self._full_of(below)
        bits = int("0" + "".join("01"[each] for each in full)[::-1], 2)
        return Page(bits, bits.bit_count())

    def _full_of(self, leaves: range) -> Iterator[bool]:
        """Whether each of many leaves is full; where the share never rises, the first and the last say it."""
        ends = {self.share_of(leaf) for leaf in (leaves[0], leaves[-1])}
        if self.share is not scattered and len(ends) == 1:
            return repeat(ends == {1.0}, len(leaves))
        share, size, total = self.share, self.shape.leaf, self.batch.total
        return (share(leaf * size / total) == 1.0 for leaf in leaves)


@dataclass
class Filled:
    """The store under test, in which each page is put before it is read; *levels*: how many were of each."""

    store: TrackerStore
    acked: Acked
    levels: Counter[int] = field(default_factory=Counter)

    @property
    def read(self) -> int:
        return self.levels.total()

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        self._fill(keys)
        return self.store.pages(keys, bits)

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        self._fill(keys)
        return self.store.glance(keys, bits)

    def _fill(self, keys: Collection[PageKey]) -> None:
        self.levels.update(key.level for key in keys)
        for key in keys:
            if (page := self.acked.page(key)).n or key.level:
                put(self.store, key, page)


def put(store: TrackerStore, key: PageKey, page: Page) -> None:
    if isinstance(store, MemoryStore):
        store.stored_pages[key] = page
        return
    assert isinstance(store, DynamoStore)
    row = {"pk": text(str(key)), "n": number(page.n)}
    row |= {f"d{digit}": number(value) for digit, value in digits(page.bits)}
    row |= {f"x{digit}": number(value) for digit, value in digits(page.failed)}
    row |= {"compacted": {"BOOL": True}} if page.compacted else {}
    store.client.put_item(TableName=TABLES[1], Item=row)
