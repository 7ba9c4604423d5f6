"""Page masks are the tracker's pages in another notation, whatever is folded into them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.page import PAGE_BITS_MAX, Page, PageMasks, digits
from fanin.tracker.rules.tree import stretches
from pipeline.fan_out import send
from pipeline.reconcile import outstanding
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_frames import rows

masks = st.integers(0, 2**1024 - 1)
page_sizes = st.sampled_from([2, 7, 64, 100, 1024])
EDGES = [1, 63, 64, 65, 1023, 1024, 1025, 32 * 1024 - 1, 32 * 1024 + 1]


def folded_by_the_rules(items, page_bits: int) -> dict[int, int]:
    """Each page's mask, item by item, by the tracker's own pages."""
    pages: dict[int, Page] = {}
    for item in items:
        for number, first, _ in stretches(item, item, page_bits):
            page = pages.get(number, Page())
            pages[number] = page.with_bits(PageMasks(page.unset(1 << first)))
    return {number: page.bits for number, page in sorted(pages.items())}


def as_masks(pages, folded) -> dict[int, int]:
    return {int(page): bitmaps.to_mask(row.tobytes()) for page, row in zip(pages, folded, strict=True)}


@settings(deadline=None)
@given(masks)
def test_a_page_mask_holds_bit_i_in_bit_i_mod_8_of_byte_i_div_8(mask):
    page_mask = bitmaps.from_mask(mask)

    assert len(page_mask) == bitmaps.MASK_BYTES
    assert [byte >> bit & 1 for byte in page_mask for bit in range(8)] == [mask >> i & 1 for i in range(1024)]
    assert bitmaps.to_mask(page_mask) == mask


def test_the_bits_of_a_page_are_the_trackers():
    full = digits((1 << PAGE_BITS_MAX) - 1)

    assert bitmaps.MASK_BYTES * 8 == PAGE_BITS_MAX == send.PAGE_ITEMS == Tracker(MemoryStore()).page_bits
    assert outstanding.LONGS_A_PAGE * 64 == PAGE_BITS_MAX
    assert len(list(full)) == rows.DIGITS
    assert (2**bitmaps.PAGE_SHIFT, 2**bitmaps.BLOCK_SHIFT) == (PAGE_BITS_MAX, bitmaps.BLOCK_PAGES)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1023, 1024])
def test_a_full_page_has_a_bit_for_each_item_and_no_other(size):
    assert bitmaps.to_mask(bitmaps.ones(size)) == (1 << size) - 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 200_000), max_size=60), page_sizes)
def test_a_fold_is_what_the_trackers_pages_hold_in_any_order_and_with_repeats(items, page_bits):
    twice = np.array(items + items[::-1], np.int64)

    assert as_masks(*bitmaps.fold(twice, page_bits)) == folded_by_the_rules(items, page_bits)


ranges = st.lists(st.tuples(st.integers(0, 99_000), st.integers(0, 9_000)), max_size=20)


@settings(deadline=None)
@given(ranges, page_sizes, st.sampled_from([1, 100, bitmaps.MOST_LONGS]))
@example([(0, 1), (3, 1)], 1024, 1)
@example([(0, 0), (70_000, 0), (1, 0), (40_000, 5)], 1024, bitmaps.MOST_LONGS)
def test_ranges_fold_as_their_items_do_however_many_are_set_at_once(lengths, page_bits, longs):
    found, expected = bitmaps.Fold(page_bits), bitmaps.Fold(page_bits)
    for each in (lengths[:3], lengths[3:], lengths):
        first, more = np.array(each, np.int64).reshape(-1, 2).T
        with patch.object(bitmaps, "MOST_LONGS", longs):
            found.add_ranges(first, first + more)
        for start, length in each:
            expected.add(np.arange(start, start + length + 1))

    assert [part.tolist() for part in found.blocks()] == [part.tolist() for part in expected.blocks()]


@pytest.mark.parametrize(
    "counts", [[1], [512], [513], [32768], [512, 2048, 1, 32767, 82], [32768, 5000], [3, 4, 5]]
)
def test_blocks_of_few_items_are_packed_to_two_bytes_an_item_and_all_are_unpacked_to_themselves(counts):
    chance, blocks = np.random.default_rng(1), np.zeros((len(counts), bitmaps.BLOCK_BITS), np.uint8)
    for block, count in zip(blocks, counts, strict=True):
        block[chance.permutation(bitmaps.BLOCK_BITS)[:count]] = 1
    masks = np.packbits(blocks, axis=1, bitorder="little")

    values = bitmaps.packed(masks).to_pylist()

    assert list(map(len, values)) == [2 * count if count <= bitmaps.SPARSE else 4096 for count in counts]
    assert [bitmaps.unpacked(value).tobytes() for value in values] == [mask.tobytes() for mask in masks]


@pytest.mark.parametrize("count", EDGES)
@pytest.mark.parametrize("page_bits", [7, 1024])
def test_all_items_of_a_batch_fold_to_full_pages_and_unfold_to_themselves(count, page_bits):
    pages, folded = bitmaps.fold(np.arange(count)[::-1], page_bits)

    assert list(bitmaps.popcount(folded)[:-1]) == [page_bits] * ((count - 1) // page_bits)
    assert bitmaps.popcount(folded).sum() == count
    assert np.array_equal(bitmaps.positions(pages, folded, page_bits), np.arange(count))


def test_the_last_item_of_the_largest_batch_folds():
    last = 2**40 - 1

    assert as_masks(*bitmaps.fold(np.array([last]), 1024)) == {last // 1024: 1 << 1023}
