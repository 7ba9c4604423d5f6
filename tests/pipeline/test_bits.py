"""Words are the tracker's pages in another notation, whatever is folded into them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.tracker.page import Page, digits
from fanin.tracker.tree import stretches
from pipeline import bits

masks = st.integers(0, 2**1024 - 1)
page_sizes = st.sampled_from([2, 7, 64, 100, 1024])
EDGES = [1, 63, 64, 65, 1023, 1024, 1025, 32 * 1024 - 1, 32 * 1024 + 1]


def folded_by_the_rules(places, page_bits: int) -> dict[int, int]:
    """Each page's mask, item by item, by the tracker's own pages."""
    pages: dict[int, Page] = {}
    for place in places:
        for number, first, _ in stretches(place, place, page_bits):
            page = pages.get(number, Page())
            pages[number] = page.with_bits(page.unset(1 << first))
    return {number: page.bits for number, page in sorted(pages.items())}


def as_masks(pages, words) -> dict[int, int]:
    return {int(page): bits.to_mask(row.tobytes()) for page, row in zip(pages, words, strict=True)}


@settings(deadline=None)
@given(masks)
def test_words_hold_bit_i_in_bit_i_mod_8_of_byte_i_div_8(mask):
    words = bits.from_mask(mask)

    assert len(words) == bits.WORD_BYTES
    assert [byte >> bit & 1 for byte in words for bit in range(8)] == [mask >> i & 1 for i in range(1024)]
    assert bits.to_mask(words) == mask


@settings(deadline=None)
@given(masks)
def test_words_and_the_trackers_digits_say_the_same(mask):
    assert list(bits.to_digits(bits.from_mask(mask))) == list(digits(mask))
    assert bits.from_digits(digits(mask)) == bits.from_mask(mask)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1023, 1024])
def test_a_full_page_has_a_bit_for_each_item_and_no_other(size):
    assert bits.to_mask(bits.ones(size)) == (1 << size) - 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 200_000), max_size=60), page_sizes)
def test_a_fold_is_what_the_trackers_pages_hold_in_any_order_and_with_repeats(places, page_bits):
    twice = np.array(places + places[::-1], np.int64)

    assert as_masks(*bits.fold(twice, page_bits)) == folded_by_the_rules(places, page_bits)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**40 // 1000), max_size=8), max_size=5))
def test_a_fold_takes_its_positions_in_any_number_of_portions(portions):
    fold = bits.Fold(1024)
    for portion in portions:
        fold.add(np.array(portion, np.int64))

    together = np.array([place for portion in portions for place in portion], np.int64)

    assert as_masks(*bits.pages_of(*fold.blocks())) == as_masks(*bits.fold(together, 1024))


@pytest.mark.parametrize("count", EDGES)
@pytest.mark.parametrize("page_bits", [7, 1024])
def test_all_items_of_a_batch_fold_to_full_pages_and_unfold_to_themselves(count, page_bits):
    pages, words = bits.fold(np.arange(count)[::-1], page_bits)

    assert list(bits.popcount(words)[:-1]) == [page_bits] * ((count - 1) // page_bits)
    assert bits.popcount(words).sum() == count
    assert np.array_equal(bits.positions(pages, words, page_bits), np.arange(count))


def test_the_last_item_of_the_largest_batch_folds():
    last = 2**40 - 1

    assert as_masks(*bits.fold(np.array([last]), 1024)) == {last // 1024: 1 << 1023}


def test_nothing_folds_to_no_page():
    pages, words = bits.fold(np.array([], np.int64), 1024)

    assert (pages.size, words.shape) == (0, (0, bits.WORD_BYTES))


@settings(deadline=None)
@given(st.lists(masks, max_size=4))
def test_popcount_counts_the_bits_of_each_row(rows):
    words = bits.as_rows(map(bits.from_mask, rows))

    assert list(bits.popcount(words)) == [mask.bit_count() for mask in rows]
