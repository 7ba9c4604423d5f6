"""Positions, words and digits: three ways to write which items of a batch are acked. Pure, in numpy, Arrow.

The words of a page are its bits in 128 bytes: bit *i* is bit ``i % 8`` of byte ``i // 8``, and 1 where the
item is acked. That is also the layout of Spark's bitmap functions. A block is 32 neighbouring pages in
4,096 bytes, as much as one of those functions takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanin.tracker.page import PAGE_BITS_MAX, bits_of, digits, mask_of

WORD_BYTES = PAGE_BITS_MAX // 8
BLOCK_PAGES = 32
BLOCK_BYTES = BLOCK_PAGES * WORD_BYTES

Longs: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint8]
"""One row a page (128 bytes), or one row a block (4,096 bytes)."""


def from_mask(mask: int) -> bytes:
    """The words of a page whose bits are *mask*."""
    return mask.to_bytes(WORD_BYTES, "little")


def to_mask(words: bytes) -> int:
    """The inverse of :func:`from_mask`."""
    return int.from_bytes(words, "little")


def from_digits(values: Iterable[tuple[int, int]]) -> bytes:
    """The words of a page that is stored as (digit, value)."""
    return from_mask(bits_of(iter(values)))


def to_digits(words: bytes) -> Iterator[tuple[int, int]]:
    """The digits that have any bit set, as (digit, value), lowest first."""
    return digits(to_mask(words))


def ones(size: int) -> bytes:
    """The words of a full page of *size* items."""
    return from_mask(mask_of(0, size - 1)) if size else bytes(WORD_BYTES)


def as_rows(words: Iterable[bytes]) -> Words:
    """The words of many pages as one row each."""
    return np.frombuffer(b"".join(words), np.uint8).reshape(-1, WORD_BYTES)


def to_column(words: Words) -> pa.Array:
    """One binary value a row, as Arrow holds it."""
    offsets = np.arange(words.shape[0] + 1, dtype=np.int32) * words.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(pa.binary(), words.shape[0], buffers)


def popcount(words: Words) -> Longs:
    """How many bits each row has set."""
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def positions(pages: Longs, words: Words, page_bits: int) -> Longs:
    """The places in the batch of all set bits, in the order of the rows; *pages* are the rows' numbers."""
    rows, bits = np.nonzero(np.unpackbits(words, axis=-1, bitorder="little"))
    return np.asarray(pages, np.int64)[rows] * page_bits + bits


def fold(places: Longs, page_bits: int) -> tuple[Longs, Words]:
    """The pages that hold any of *places*, ascending, and their words; in any order, with repeats."""
    folded = Fold(page_bits)
    folded.add(places)
    return pages_of(*folded.blocks())


def pages_of(numbers: Longs, blocks: Words) -> tuple[Longs, Words]:
    """The pages with any bit set, and their words, of the blocks with these *numbers*."""
    words = blocks.reshape(-1, WORD_BYTES)
    pages = (numbers[:, None] * BLOCK_PAGES + np.arange(BLOCK_PAGES)).ravel()
    held = words.any(axis=1)
    return pages[held], words[held]


class Fold:
    """Takes positions of one batch and keeps a bit for each: an eighth of a byte an item."""

    def __init__(self, page_bits: int) -> None:
        self._page_bits = page_bits
        self._rows: NDArray[np.int32] = np.zeros(1, np.int32)
        """The row of each block, counted from 1; 0 where nothing of the block came yet."""
        self._numbers: list[Longs] = []
        self._count = 0
        self._bytes: Words = np.zeros(0, np.uint8)

    def add(self, places: Longs) -> None:
        """Set the bits of *places*, each 0 or more."""
        if not places.size:
            return
        pages = places // self._page_bits
        block = pages >> 5
        self._admit(block)
        bits = places - pages * self._page_bits + ((pages & (BLOCK_PAGES - 1)) << 10)
        at = (self._rows[block].astype(np.int64) - 1) * BLOCK_BYTES + (bits >> 3)
        np.bitwise_or.at(self._bytes, at, np.left_shift(np.uint8(1), (bits & 7).astype(np.uint8)))

    def blocks(self) -> tuple[Longs, Words]:
        """The numbers of the blocks that hold any item, ascending, and their bytes."""
        numbers: Longs = np.concatenate([np.zeros(0, np.int64), *self._numbers])
        order: Any = np.argsort(numbers)
        return numbers[order], self._bytes[: self._count * BLOCK_BYTES].reshape(-1, BLOCK_BYTES)[order]

    def _admit(self, block: Longs) -> None:
        """Give every block a row."""
        self._rows = _grown(self._rows, int(block.max()) + 1)
        fresh = np.unique(block[self._rows[block] == 0])
        self._rows[fresh] = np.arange(self._count + 1, self._count + 1 + fresh.size)
        self._numbers.append(fresh)
        self._count += fresh.size
        self._bytes = _grown(self._bytes, self._count * BLOCK_BYTES)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """*array* with zeros behind it, so that it has *size* places at least; some more, to grow seldom."""
    if size <= array.size:
        return array
    larger = np.zeros(max(size, array.size * 5 // 4), array.dtype)
    larger[: array.size] = array
    return larger
