"""A map of a batch: its cells are true where it says so and near the truth elsewhere, for a bounded cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.aws.dynamodb.meter import Meter
from fanin.errors import InvalidRequest, NotFound
from fanin.tracker import Batch, BatchMap, Mode, State, Tracker, TrackerStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.mapping import CELLS_MAX, SPARE_PAGES, mapped
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from tests.contract.tracker.calls import KEY, LATER, NOW
from tests.contract.tracker.filled import SHAPES, Acked, Filled, put
from tests.tracker.calls import ack, fail, opened

SIZES = [10**4, 2 * 10**6, 10**9, *(pytest.param(each, marks=pytest.mark.proof) for each in (10**6, 10**7))]
MOST_READ = {10**4: 11, 10**6: 978, 2 * 10**6: 1957}
MOST_SAMPLED = 1979
"""The pages that a map reads at most, of all levels together: the table of docs/tracker.md."""


def truth(acked: Acked, low: int, high: int) -> int:
    """How many of the items *low* to *high* (exclusive) are acked: the first ones of each leaf."""
    leaf = acked.shape.leaf
    numbers = range(low // leaf, -(-high // leaf))
    return sum(max(0, min(n * leaf + acked.count(n), high) - max(n * leaf, low)) for n in numbers)


def cells_of(found: BatchMap, every: int = 1) -> Iterator[tuple[int, int, int]]:
    """Each cell, or some of them: its items, and how many the map says are acked."""
    for at in range(0, len(found.acked), every):
        low = found.start + at * found.cell_items
        yield low, min(low + found.cell_items, found.stop), found.acked[at]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("total", SIZES)
def test_a_map_is_near_the_truth_for_a_bounded_number_of_pages(batch, total, shape):
    filled = Filled(MemoryStore(), Acked(replace(batch, total=total), SHAPES[shape][0]))
    found = mapped(filled, filled.acked.batch)
    some = list(cells_of(found, every=16))
    off = [abs(shown - truth(filled.acked, low, high)) / (high - low) for low, high, shown in some]

    assert sum(off) / len(off) <= (0 if found.exact else 0.017)
    assert abs(sum(found.acked) / total - SHAPES[shape][1]) <= (0.01 if total > 10**4 else 0.05)
    assert all(0 <= shown <= high - low for low, high, shown in some)
    assert found.exact or total > 2 * 10**6
    assert max(filled.levels.values()) <= len(found.acked) + SPARE_PAGES <= 2048
    assert filled.read <= MOST_READ.get(total, 3003)
    assert found.exact or filled.read <= MOST_SAMPLED


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [(499_999_487, 500_999_487), (123_456_789, 123_456_800)])
def test_a_window_of_a_million_items_is_exact(batch, window, shape):
    filled = Filled(MemoryStore(), Acked(replace(batch, total=10**9), SHAPES[shape][0]))
    found = mapped(filled, filled.acked.batch, CELLS_MAX, *window)

    assert found.exact
    assert (found.start, found.stop) == window
    assert all(shown == truth(filled.acked, low, high) for low, high, shown in cells_of(found))
    assert max(filled.levels.values()) <= CELLS_MAX + SPARE_PAGES


@pytest.mark.parametrize(("bits", "cells"), [(2, 7), (7, 1024), (64, 1), (64, 1024)])
@pytest.mark.parametrize("window", [(0, None), (0, 1), (13, 4000), (7, 7_001), (10**4, None)])
def test_cells_that_are_exact_are_true(batch, window, bits, cells):
    check_cells(MemoryStore(), batch, window, bits, cells)


def test_cells_that_are_exact_are_true_in_every_store(store, batch):
    check_cells(store, batch, (13, 4000), 64, 100)


def check_cells(
    store: TrackerStore, batch: Batch, window: tuple[int, int | None], bits: int, cells: int
) -> None:
    acked = Acked(replace(batch, total=10**4 + 11, page_bits=bits), SHAPES["at random, 50 %"][0])
    found = mapped(Filled(store, acked), acked.batch, cells, *window)

    assert 1 <= len(found.acked) == len(found.failed) <= cells
    assert sum(high - low for low, high, _ in cells_of(found)) == found.stop - found.start
    assert (found.start, found.stop) == (window[0], window[1] or acked.batch.total)
    assert found.exact or bits < 64
    if found.exact:
        assert all(shown == truth(acked, low, high) for low, high, shown in cells_of(found))


@pytest.mark.parametrize("total", [10**6, 10**9, 2**36])
def test_an_estimated_batch_shows_its_counters(batch, total):
    acked = Acked(replace(batch, total=total, mode=Mode.ESTIMATED), SHAPES["at random, 50 %"][0])
    filled = Filled(MemoryStore(), acked)
    found = mapped(filled, acked.batch)

    assert found.cell_items % 2**20 == 0
    assert not found.exact
    assert not any(found.failed)
    assert abs(sum(found.acked) / total - 0.5) < 0.02
    assert max(filled.levels.values()) <= CELLS_MAX + SPARE_PAGES


def test_a_window_of_an_estimated_batch_takes_counters_as_spread_evenly_and_counts_no_item_twice(
    store, batch
):
    counted = replace(batch, total=3 * 2**20, mode=Mode.ESTIMATED)
    for number, n in enumerate((2**19, 2**21, 0)):
        put(store, PageKey(KEY, 0, number), Page(0, n))
    found = mapped(store, counted, 1024, 2**19, 2**21 + 2**19)

    assert (found.start, found.stop, found.cell_items) == (2**19, 2**21 + 2**19, 2**20)
    assert found.acked == (2**18 + 2**19, 2**19)


@pytest.mark.parametrize("state", [State.COMPLETE, State.CANCELLED, State.TIMED_OUT, State.FAILED])
def test_a_batch_that_has_ended_shows_what_was_done(store, state):
    tracker = Tracker(store, 16, now=lambda: NOW, pause=lambda _: None)
    batch_id, group = opened(tracker, 50)
    fail(tracker, batch_id, group, *range(20))
    ack(tracker, batch_id, group, *range(5))
    found = tracker.map(replace(tracker.get("t", batch_id), state=state), 16)

    assert found.exact
    assert found.failed == (False, *(True,) * 4, *(False,) * 8)
    assert found.acked == ((4,) * 12 + (2,) if state is State.COMPLETE else (4,) * 5 + (0,) * 8)


def test_a_complete_batch_without_failures_is_not_read(batch):
    class Unread(MemoryStore):
        def glance(self, keys, bits):
            raise AssertionError

    found = mapped(Unread(), replace(batch, total=10**9, state=State.COMPLETE))

    assert (sum(found.acked), found.exact) == (10**9, True)


def test_an_empty_batch_and_a_window_beyond_the_total_have_no_cells(store, batch):
    grown = replace(batch, total=100)

    assert mapped(store, batch) == BatchMap(0, 0, 1, (), (), True)
    assert (
        mapped(store, grown, 10, 100)
        == mapped(store, grown, 10, 500, 900)
        == BatchMap(100, 100, 1, (), (), True)
    )
    assert mapped(store, grown, 10, 90, 900).stop == 100


@pytest.mark.parametrize(
    ("given", "field"),
    [((0,), "cells"), ((1025,), "cells"), ((1, -1), "from"), ((1, 5, 5), "to"), ((1, 5, 4), "to")],
)
def test_arguments_out_of_bounds_are_refused(batch, given, field):
    with pytest.raises(InvalidRequest) as refusal:
        mapped(MemoryStore(), batch, *given)
    assert refusal.value.field == field


def test_a_batch_that_has_expired_has_no_map(store, batch):
    tracker = Tracker(store, now=lambda: NOW + timedelta(days=8))
    store.create(batch)
    with pytest.raises(NotFound):
        tracker.map(tracker.get(KEY.tenant, KEY.batch_id))


def test_a_glance_without_bits_has_the_counts_and_the_failures(store):
    keys = [PageKey(KEY, 0, number) for number in range(4)]
    for key, page in zip(keys, (Page(0b11, 2), Page(0, 7, compacted=True, failed=0b1)), strict=False):
        put(store, key, page)
    store.mark_tail(keys[2], 5, False, LATER)

    assert store.glance(keys, True) == store.pages(keys)
    assert store.glance(keys, False) == {
        keys[0]: Page(0, 2),
        keys[1]: Page(0, 7, compacted=True, failed=0b1),
        keys[2]: Page(0, 0, size=5) if isinstance(store, MemoryStore) else Page(),
    }


def test_a_map_is_read_by_eventual_reads_of_100_keys_and_its_leaves_without_bits(store, batch):
    if isinstance(store, MemoryStore):
        pytest.skip("nothing is sent")
    meter, sent = Meter().attach(store.client), []
    store.client.meta.events.register(
        "provide-client-params.dynamodb.BatchGetItem",
        lambda params, **_: sent.extend(params["RequestItems"].values()),
    )
    acked = Acked(replace(batch, total=10**6), SHAPES["in order, 40 %"][0])
    filled = Filled(store, acked)
    mapped(filled, acked.batch)

    assert filled.levels == {1: 1, 0: 586}
    assert meter.totals["BatchGetItem"] == 1 + 6 + 1
    assert not any(each["ConsistentRead"] for each in sent)
    assert Counter("ProjectionExpression" in each for each in sent) == {True: 6, False: 2}
