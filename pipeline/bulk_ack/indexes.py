"""Reads the decimal numbers at the ends of a column of texts, eight digits in one step. Pure, in numpy."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Longs: TypeAlias = NDArray[np.int64]
Eights: TypeAlias = NDArray[np.uint64]

EIGHT = 8
MOST_DIGITS = 2 * EIGHT
"""The most digits of a number that `after` reads."""
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_HIGH_HALVES = np.uint64(0xF0F0F0F0F0F0F0F0)
_STEPS = (
    (np.uint64(10 << 8 | 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 << 16 | 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(10000 << 32 | 1), np.uint64(32), np.uint64(0xFFFFFFFF)),
)
"""Neighbours become pairs, pairs fours, and fours eights: a product, a shift, and what is kept."""
_LEAST = np.array([0, 0, *(10**digits for digits in range(1, MOST_DIGITS))], np.int64)
"""The least number of so many digits, without a zero before it."""


def _last_bytes(lengths: range) -> Eights:
    """Return for each length the mask of an eight that keeps its last so many bytes."""
    sizes = [min(max(length, 0), EIGHT) for length in lengths]
    return np.array([(1 << 64) - (1 << 8 * (EIGHT - size)) for size in sizes], np.uint64)


_LOW = _last_bytes(range(MOST_DIGITS + 1))
_HIGH = _last_bytes(range(-EIGHT, MOST_DIGITS - EIGHT + 1))


def after(raw: pa.Array, skip: int, wanted: NDArray[np.bool_] | None = None) -> Longs:
    """Return the number after the first *skip* bytes of each of *raw*, binary and without nulls.

    -1 for one that is not in canonical form of at most 16 digits, or not *wanted*. *skip*: at least 16; no
    wanted one is shorter.
    """
    _, offsets, data = raw.buffers()
    bounds = np.frombuffer(offsets, np.int32)[raw.offset : raw.offset + len(raw) + 1]
    ends = bounds[1:].astype(np.int64)
    lengths = ends - bounds[:-1]
    lengths -= skip
    unread = (lengths < 1) | (lengths > MOST_DIGITS)
    if wanted is not None:
        unread |= ~wanted
        ends[unread] = ends[wanted.argmax()]  # so that the others are not read
    lengths[unread] = 1
    eights = _unaligned(np.frombuffer(data, np.uint8))
    ends -= EIGHT
    numbers = _eight(eights[ends], _LOW[lengths])
    if lengths.max() > EIGHT:
        ends -= EIGHT
        high = _eight(eights[ends], _HIGH[lengths])
        numbers = np.where((numbers < 0) | (high < 0), -1, numbers + high * 10**EIGHT)
    unread |= numbers < _LEAST[lengths]
    numbers[unread] = -1
    return numbers


def _unaligned(data: NDArray[np.uint8]) -> Eights:
    """Return the eight bytes from each byte on, as a number."""
    return np.ndarray((data.size - EIGHT + 1,), "<u8", data, strides=(1,))


def _eight(eights: Eights, kept: Eights) -> Longs:
    """Return the numbers that the *kept* bytes of *eights* are, which it changes; -1 for one that is none."""
    eights ^= _ZEROS
    eights &= kept
    halves = eights | (eights + _SIXES)
    has_others = np.bitwise_or.reduce(halves) & _HIGH_HALVES
    for product, shift, mask in _STEPS:
        eights *= product
        eights >>= shift
        eights &= mask
    numbers: Longs = eights.view(np.int64)
    if has_others:
        numbers[halves & _HIGH_HALVES != 0] = -1
    return numbers
