"""Ranges hold every item of the wanted leaves, are few, and leave the widest gaps out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reconcile.outstanding import Part
from pipeline.reconcile.run import covering


def part_of(start: int, upto: int, page_bits: int = 10) -> Part:
    return Part("batch", "group", start, upto, start + upto, page_bits)


@given(st.integers(0, 25), st.integers(1, 300), st.integers(1, 8), st.data())
def test_few_ranges_hold_all_items_of_the_leaves(start, upto, most, data):
    part = part_of(start, upto)
    pages = data.draw(st.sets(st.sampled_from(list(part.leaves))))

    ranges = covering(np.array(sorted(pages, reverse=True), np.int64), part, most, share=0.5)

    wanted = {index for index in range(upto) if (start + index) // part.page_bits in pages}
    held = [index for first, last in ranges for index in range(first, last + 1)]
    assert wanted <= set(held) <= set(range(upto))
    assert (len(ranges) <= most, sorted(set(held))) == (True, held)
    few = len(wanted) * 2 <= upto
    assert most < len(pages) or not few or set(held) == wanted


@pytest.mark.parametrize(
    ("pages", "most", "expected"),
    [
        ([], 3, []),
        ([2], 3, [(20, 29)]),
        ([0, 1, 2, 5], 3, [(0, 29), (50, 59)]),
        ([0, 3, 9, 11], 2, [(0, 39), (90, 119)]),
        ([0, 13, 15, 28], 2, [(0, 289)]),
        (range(0, 30, 2), 30, [(0, 289)]),
        ([0, 3, 9, 11], 1, [(0, 119)]),
        (range(30), 3, [(0, 294)]),
        ([29], 3, [(290, 294)]),
    ],
)
def test_the_widest_gaps_are_left_out(pages, most, expected):
    assert covering(np.array(pages, np.int64), part_of(0, 295), most, share=0.5) == expected


def test_a_group_that_begins_and_ends_within_a_leaf_has_its_items_alone():
    assert covering(np.array([1, 4]), part_of(17, 25), 3, share=0.5) == [(0, 2), (23, 24)]
