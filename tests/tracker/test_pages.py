"""Bits, digits and the tree over them, and pages that stand for those of their cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.tracker.reads.page_sampling import Part, fair_shares, nth, period_of, spaced, weights_of
from fanin.tracker.rules.page import Page, PageMasks, bits_of, digits, mask_of
from fanin.tracker.rules.tree import Shape, capacity, height, stretches, tails

masks = st.integers(0, 2**1024 - 1)


@given(masks)
def test_digits_are_an_exact_picture_of_a_mask(mask):
    found = list(digits(mask))

    assert bits_of(iter(found)) == mask
    assert all(0 < value < 64 for _, value in found)
    assert [digit for digit, _ in found] == sorted({digit for digit, _ in found})


@given(masks, masks)
def test_an_add_is_admitted_exactly_where_it_is_an_or(bits, mask):
    page = Page(bits, bits.bit_count())

    assert page.admits(mask) == (bits + mask == bits | mask)


@given(masks, masks)
def test_what_is_unset_of_a_mask_is_admitted_and_completes_it(bits, mask):
    page = Page(bits, bits.bit_count())
    unset = page.unset(mask)
    after = page.with_bits(PageMasks(unset))

    assert page.admits(unset)
    assert after == Page(bits | mask, (bits | mask).bit_count())
    assert after.unset(mask) == 0


def test_a_compacted_page_has_nothing_unset_and_admits_nothing():
    page = Page(0b1111, 4).compact()

    assert (page.bits, page.n) == (0, 4)
    assert page.unset(0b1) == 0
    assert not page.admits(0b10000)
    assert not page.may_compact(4)


@pytest.mark.parametrize(
    ("n", "size", "full"), [(4, None, True), (3, None, False), (3, 3, True), (2, 3, False), (0, 1, False)]
)
def test_a_page_is_full_at_its_size_or_at_the_size_of_a_page(n, size, full):
    assert Page(mask_of(0, n - 1) if n else 0, n, size).is_full(4) is full


@given(st.integers(1, 10**10), st.integers(2, 1024))
def test_tails_end_in_one_root_and_count_the_pages_below(total, page_bits):
    found = list(tails(total, Shape(page_bits, page_bits)))

    assert [tail.root for tail in found] == [False] * (len(found) - 1) + [True]
    assert found[-1].number == 0
    assert height(total, Shape(page_bits, page_bits)) == found[-1].level
    for entries, tail in zip([total] + [tail.number + 1 for tail in found], found, strict=False):
        assert tail.number * page_bits + tail.size == entries
        assert 1 <= tail.size <= page_bits


@given(st.integers(0, 10**6), st.integers(0, 5000), st.integers(2, 1024))
def test_stretches_cover_a_range_page_by_page(first, more, page_bits):
    covered = [
        page * page_bits + bit
        for page, low, high in stretches(first, first + more, page_bits)
        for bit in range(low, high + 1)
    ]

    assert covered == list(range(first, first + more + 1))


@given(st.integers(0, 5000), st.integers(2, 9), st.integers(0, 3))
def test_the_capacities_of_a_level_add_up_to_the_batch(total, page_bits, level):
    pages = range(total // page_bits ** (level + 1) + 2)

    assert sum(capacity(level, number, total, Shape(page_bits, page_bits)) for number in pages) == total


def part(base: int, mask: int) -> Part:
    return Part(0, base, mask, 1.0, mask.bit_count())


PARTS = [part(0, 0b1111_1111), part(1024, 0b1010_1010_1010_1010), part(2048, 0)]
NUMBERS = [number for each in PARTS for number in each.numbers]


@pytest.mark.parametrize("most", [1, 3, 5, 11, 16])
def test_one_page_of_each_stretch_of_all_parts_is_taken_at_random(most):
    edges = [16 * at // most for at in range(most + 1)]
    stretches = [NUMBERS[low:high] for low, high in pairwise(edges)]
    drawn = [list(spaced(PARTS, most, Random(seed))) for seed in range(60)]

    for at, stretch in enumerate(stretches):
        assert {sample[at][1] for sample in drawn} == set(stretch)
        assert {sample[at][2] for sample in drawn} == {len(stretch)}
    assert all(number in own.numbers for sample in drawn for own, number, _ in sample)


@given(st.sets(st.integers(0, 1023), min_size=1), st.data())
def test_the_nth_bit_has_n_bits_below_it(bits, data):
    rank = data.draw(st.integers(0, len(bits) - 1))

    assert nth(sum(1 << bit for bit in bits), rank) == sorted(bits)[rank]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=50), st.integers(50, 4000))
def test_each_has_a_share_and_together_they_are_no_more_than_there_is(wanted, most):
    shares = fair_shares(wanted, most)

    assert all(1 <= share <= want for share, want in zip(shares, wanted, strict=True))
    assert sum(shares) == min(sum(wanted), most)


@pytest.mark.parametrize(
    ("swing", "noise", "found"), [(0.05, 0, False), (0.06, 0, True), (1, 1.1, True), (1, 1.5, False)]
)
def test_a_period_explains_half_of_what_neighbours_differ_by_and_not_too_little(swing, noise, found):
    random = Random(1)
    shares = [swing * (page % 2) + noise * random.uniform(-1, 1) for page in range(256)]
    period = period_of(range(256), shares)

    assert (period is not None and period % 2 == 0) is found


@pytest.mark.parametrize(("every", "period"), [(2, 2), (3, 3), (64, 64), (65, None), (1, None)])
def test_the_shortest_period_of_up_to_64_pages_is_found(every, period):
    assert period_of(range(330), [float(page % every == 0) for page in range(330)]) == period


@pytest.mark.parametrize(
    ("period", "parts", "sample", "weights"),
    [
        (2, [part(0, 0b111111)], {0: 1, 2: 1, 3: 1}, [1.5, 1.5, 3]),
        (3, [part(0, 0b111111)], {0: 1, 1: 1}, [3, 3]),
        (3, [part(7, 0b11011), replace(part(100, 1), weight=3)], {7: 1, 8: 2, 100: 1}, [2.5, 2, 2.5]),
    ],
    ids=["two residues", "a residue of which no page was read", "two parts"],
)
def test_the_pages_of_a_residue_weigh_as_many_as_have_it(period, parts, sample, weights):
    assert weights_of(period, parts, list(sample), list(sample.values())) == weights
