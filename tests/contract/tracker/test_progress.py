"""How far a batch is: within two points of the truth for at most 256 pages, whatever its size and its work.

The batches are as large as they come, so a page is stored when it is read for the first time: as the acks of
its items, or of the pages below it, have left it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from zlib import crc32

import pytest

from fanin.aws.meter import Meter
from fanin.aws.rows import number, text
from fanin.tracker import Batch, Mode, State, TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import PageKey, Progress
from fanin.tracker.page import Page, digits
from fanin.tracker.progress import PAGES_A_LOOK, progress
from fanin.tracker.tree import capacity
from tests.contract.tables import TABLES

Share = Callable[[float], float]
"""The part of a page's items that is acked, by the place of the page in the batch, from 0 to 1."""
SIZES = [10**6, 10**7, 10**8, 10**9]


def drawn(place: float) -> float:
    """A number from 0 to 1 that looks drawn at random, always the same for a place."""
    return crc32(str(place).encode()) / 2**32


SHAPES: dict[str, tuple[Share, float]] = {
    "in order, 40 %": (lambda place: float(place < 0.4), 0.4),
    "in order, 40 %, 1 % of it missing": (lambda place: 0.99 * (place < 0.4), 0.396),
    "at random, 50 %": (lambda place: 0.5, 0.5),
    "99 %, the rest scattered": (lambda place: 0.99, 0.99),
    "all but 0.2 % of the pages": (lambda place: 0.3 if drawn(place) < 0.002 else 1.0, 0.9986),
}
"""Each with the part of all items that is acked."""


@dataclass
class Acked:
    """A batch of which each leaf has its share of acked items; what the pages of its tree hold then."""

    batch: Batch
    share: Share
    _full: dict[tuple[int, int], bool] = field(default_factory=dict)

    def count(self, leaf: int) -> int:
        """How many items of a leaf are acked: its share, and some more or less."""
        share, items = self.share(leaf * self.batch.shape.leaf / self.batch.total), self.items(0, leaf)
        wavering = (drawn(leaf) - 0.5) * sqrt(12 * items * share * (1 - share))
        return min(max(round(items * share + wavering), 0), items - (share < 1.0))

    def items(self, level: int, page: int) -> int:
        return capacity(level, page, self.batch.total, self.batch.shape)

    def is_full(self, level: int, page: int) -> bool:
        if level == 0:
            return self.share(page * self.batch.shape.leaf / self.batch.total) == 1.0
        if (level, page) not in self._full:
            self._full[level, page] = all(self.is_full(level - 1, child) for child in self.below(level, page))
        return self._full[level, page]

    def below(self, level: int, page: int) -> range:
        """The pages under a page."""
        first, pages = (
            page * self.batch.shape.fanout,
            -(-self.batch.total // self.batch.shape.width(level - 1)),
        )
        return range(first, min(first + self.batch.shape.fanout, pages))

    def page(self, key: PageKey) -> Page:
        if key.level == 0:
            n = self.count(key.number)
            return Page((1 << n) - 1 if self.batch.mode is Mode.EXACT else 0, n)
        below = self.below(key.level, key.number)
        bits = sum(1 << child - below.start for child in below if self.is_full(key.level - 1, child))
        return Page(bits, bits.bit_count())


@dataclass
class Filled:
    """The store under test, in which each page is put before it is read; *read*: how many were."""

    store: TrackerStore
    acked: Acked
    read: int = 0

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        self.read += len(keys)
        for key in keys:
            if (page := self.acked.page(key)).n:
                put(self.store, key, page)
        return self.store.pages(keys)


def put(store: TrackerStore, key: PageKey, page: Page) -> None:
    if isinstance(store, MemoryStore):
        store.stored_pages[key] = page
        return
    assert isinstance(store, DynamoStore)
    row = {"pk": text(str(key)), "n": number(page.n)}
    row |= {f"d{digit}": number(value) for digit, value in digits(page.bits)}
    store.client.put_item(TableName=TABLES[1], Item=row)


def look(store: TrackerStore, batch: Batch, shape: str, **more: object) -> tuple[Progress, int]:
    """How far a batch of a shape is said to be, and how many pages were read for that."""
    filled = Filled(store, Acked(replace(batch, **more), SHAPES[shape][0]))
    return progress(filled, filled.acked.batch), filled.read


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", SIZES)
def test_the_estimate_is_within_two_points_for_at_most_256_pages(batch, total, shape):
    found, read = look(MemoryStore(), batch, shape, total=total)

    assert abs(found.estimate / total - SHAPES[shape][1]) <= 0.02
    assert found.acked <= found.estimate <= found.upper_bound
    assert read <= PAGES_A_LOOK == 256


@pytest.mark.parametrize("shape", SHAPES)
def test_every_store_is_read_so(store, batch, shape):
    found, read = look(store, batch, shape, total=10**6, page_bits=64)

    assert abs(found.estimate / 10**6 - SHAPES[shape][1]) <= 0.02
    assert read <= PAGES_A_LOOK


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", [10**6, 10**9])
def test_an_estimated_batch_is_estimated_as_well(store, batch, total, shape):
    found, read = look(store, batch, shape, total=total, mode=Mode.ESTIMATED)
    acked = Acked(replace(batch, total=total, mode=Mode.ESTIMATED), SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(-(-total // 2**20)))

    assert abs(found.estimate - truth) <= 0.02 * total
    assert not found.exact
    assert read <= PAGES_A_LOOK


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", [2, 3, 7, 64])
def test_a_batch_of_100_pages_is_counted_exactly(store, batch, bits, shape):
    sized = replace(batch, page_bits=bits, total=100 * bits - 1)
    acked = Acked(sized, SHAPES[shape][0])
    truth = sum(acked.count(leaf) for leaf in range(100))

    assert progress(Filled(store, acked), sized) == Progress(truth, 0, truth, truth, exact=True)


def test_a_batch_that_0_1_ended_by_its_failures_as_complete_is_counted(store, batch):
    found, _ = look(
        store, batch, "at random, 50 %", total=5000, state=State.COMPLETE, max_failures=3, failed=3
    )

    assert found.exact
    assert 2200 < found.acked == found.estimate < 2800


def test_a_look_at_a_billion_items_is_256_keys_of_four_requests(store, batch):
    if isinstance(store, MemoryStore):
        pytest.skip("nothing is sent")
    meter = Meter().attach(store.client)
    look(store, batch, "in order, 40 %", total=10**9)

    assert meter.totals["BatchGetItem"] == 1 + 1 + 2
