"""The bytes of ranges of items: seven bits of a number in each byte."""

from __future__ import annotations

import pytest

from fanin.tracker.dynamodb.packing import packed, unpacked

SIZES = [(1, 1), (127, 1), (128, 1), (129, 2), (2**14, 2), (2**14 + 1, 3)]
"""The size of a range, and the bytes that store it."""


@pytest.mark.parametrize(("size", "length"), SIZES)
def test_a_byte_stores_a_size_of_up_to_128_items_and_each_further_byte_seven_bits(size, length):
    assert len(packed([(0, size - 1)])) == 1 + length


@pytest.mark.parametrize("gap", [0, 126, 127, 128, 2**14 - 1, 2**14])
@pytest.mark.parametrize("size", [1, 127, 128, 129])
def test_ranges_are_read_as_they_were_stored(gap, size):
    ranges = ((gap, gap + size - 1), (2 * gap + size + 1, 2 * gap + 2 * size))

    assert unpacked(packed(ranges)) == ranges
