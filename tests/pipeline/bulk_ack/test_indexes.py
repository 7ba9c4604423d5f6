"""The numbers at the ends of texts, read eight digits at once, are those that Python reads."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bulk_ack.indexes import MOST_DIGITS, after

HEAD = b"a head that is longer than eight bytes: "


def numbers(*tails: bytes) -> list[int]:
    return after(pa.array([HEAD + tail for tail in tails], pa.binary()), len(HEAD)).tolist()


@given(st.lists(st.integers(0, 10**MOST_DIGITS - 1), min_size=1, max_size=40))
def test_numbers_of_any_length_are_read_side_by_side(wanted):
    assert numbers(*(str(number).encode() for number in wanted)) == wanted


@pytest.mark.parametrize("digits", range(1, MOST_DIGITS + 1))
@pytest.mark.parametrize("at", ["first", "last"])
def test_no_byte_but_a_digit_is_read(digits, at):
    for byte in set(range(256)) - set(b"0123456789"):
        tail = bytearray(b"1" * digits)
        tail[0 if at == "first" else -1] = byte
        assert numbers(b"7", bytes(tail), b"12") == [7, -1, 12], byte


@pytest.mark.parametrize("tail", [b"", b"00", b"01", b"0" * 16, b"1" * 17, b"+5", b"5 ", "٣".encode()])
def test_no_other_form_is_read(tail):
    assert numbers(b"7", tail, b"12") == [7, -1, 12]
