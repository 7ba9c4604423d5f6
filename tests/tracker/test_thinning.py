"""Pages that stand for those of their cell: one of each stretch, and shared fairly."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.tracker.reads.thinning import Part, fair_shares, nth, spaced


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
def test_everybody_has_a_share_and_together_they_are_no_more_than_there_is(wanted, most):
    shares = fair_shares(wanted, most)

    assert all(1 <= share <= want for share, want in zip(shares, wanted, strict=True))
    assert sum(shares) == min(sum(wanted), most)
