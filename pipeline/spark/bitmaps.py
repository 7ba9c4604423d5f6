"""Bitmaps of which items of a batch are acked, as numpy and Arrow arrays. Pure.

A page mask is the bits of one page in 128 bytes: bit *i* is bit ``i % 8`` of byte ``i // 8``, and 1 if the
item is acked. Spark's bitmap functions use the same layout. A block is 32 neighbouring pages in 4,096 bytes,
the size of one of Spark's bitmaps. The bits of a page are counted by the tracker's `PAGE_BITS_MAX`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanin.tracker.rules.page import PAGE_BITS_MAX, mask_of

MASK_BYTES = PAGE_BITS_MAX // 8
BLOCK_PAGES = 32
BLOCK_BYTES = BLOCK_PAGES * MASK_BYTES
BLOCK_BITS = BLOCK_BYTES * 8
# Both are powers of two: a shift per row is several times as fast as a division.
PAGE_SHIFT = PAGE_BITS_MAX.bit_length() - 1
BLOCK_SHIFT = BLOCK_PAGES.bit_length() - 1
_BIT = np.left_shift(1, np.arange(8)).astype(np.uint8)

Longs: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.uint8]
"""One row per page (128 bytes), or one row per block (4,096 bytes)."""


def from_mask(mask: int) -> bytes:
    """Return the page mask whose bits are *mask*."""
    return mask.to_bytes(MASK_BYTES, "little")


def to_mask(page_mask: bytes) -> int:
    """Return the bits of *page_mask*, the inverse of :func:`from_mask`."""
    return int.from_bytes(page_mask, "little")


def ones(size: int) -> bytes:
    """Return the page mask of a full page of *size* items."""
    return from_mask(mask_of(0, size - 1)) if size else bytes(MASK_BYTES)


def item_masks(pages: Longs, page_bits: int, total: int) -> Masks:
    """Return for each page the mask of all its items; the last page may have fewer than *page_bits*.

    *pages*: page numbers of a batch of *total* items.
    """
    sizes = np.clip(total - pages * page_bits, 0, page_bits)
    return np.packbits(np.arange(PAGE_BITS_MAX) < sizes[:, None], axis=1, bitorder="little")


def as_rows(page_masks: Iterable[bytes]) -> Masks:
    """Return *page_masks* as one row each."""
    return np.frombuffer(b"".join(page_masks), np.uint8).reshape(-1, MASK_BYTES)


def to_column(masks: Masks) -> pa.Array:
    """Return an Arrow array with one binary value per row."""
    offsets = np.arange(masks.shape[0] + 1, dtype=np.int32) * masks.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(masks))]
    return pa.Array.from_buffers(pa.binary(), masks.shape[0], buffers)


def popcount(masks: Masks) -> Longs:
    """Return the number of bits set in each row."""
    counts: Longs = np.bitwise_count(masks).sum(axis=-1, dtype=np.int64)
    return counts


def positions(pages: Longs, masks: Masks, page_bits: int) -> Longs:
    """Return the positions in the batch of all set bits, row by row; *pages* are the rows' page numbers."""
    rows, bits = np.nonzero(np.unpackbits(masks, axis=-1, bitorder="little"))
    return np.asarray(pages, np.int64)[rows] * page_bits + bits


def fold(items: Longs, page_bits: int) -> tuple[Longs, Masks]:
    """Return the pages that hold any position of *items*, ascending, and their masks.

    Positions may be in any order and repeated.
    """
    folded = Fold(page_bits)
    folded.add(items)
    return pages_of(*folded.blocks())


def pages_of(numbers: Longs, blocks: Masks) -> tuple[Longs, Masks]:
    """Return the pages with any bit set, and their masks, of the blocks with these *numbers*."""
    masks = blocks.reshape(-1, MASK_BYTES)
    pages = (numbers[:, None] * BLOCK_PAGES + np.arange(BLOCK_PAGES)).ravel()
    set_rows = masks.any(axis=1)
    return pages[set_rows], masks[set_rows]


class Fold:
    """Collects positions of one batch in one bit each: an eighth of a byte per item."""

    def __init__(self, page_bits: int) -> None:
        self._page_bits = page_bits
        self._ends: Longs = np.zeros(1, np.int64)
        """Where the bytes of each block end; 0 if no position of the block was added."""
        self._numbers: list[Longs] = []
        self._count = 0
        self._bytes: Masks = np.zeros(0, np.uint8)

    def add(self, items: Longs) -> None:
        """Set the bits of the positions *items*, each 0 or more."""
        if not items.size:
            return
        bits = self._bits(items)
        at = self._ends_of(bits >> (BLOCK_SHIFT + PAGE_SHIFT))
        at -= BLOCK_BYTES
        at += (bits & (BLOCK_BITS - 1)) >> 3
        bits &= 7
        np.bitwise_or.at(self._bytes, at, _BIT[bits])

    def blocks(self) -> tuple[Longs, Masks]:
        """Return the numbers of the blocks that hold any item, ascending, and their bytes."""
        numbers: Longs = np.concatenate([np.zeros(0, np.int64), *self._numbers])
        order: Any = np.argsort(numbers)
        return numbers[order], self._bytes[: self._count * BLOCK_BYTES].reshape(-1, BLOCK_BYTES)[order]

    def _bits(self, items: Longs) -> Longs:
        """Return a new array: where each item would be if all blocks were stored one after another."""
        if self._page_bits == PAGE_BITS_MAX:
            return items.copy()
        pages = items // self._page_bits
        return items - pages * self._page_bits + (pages << PAGE_SHIFT)

    def _ends_of(self, block: Longs) -> Longs:
        """Return where the bytes of each of *block* end, after a block that has none was assigned some."""
        self._ends = _grown(self._ends, int(block.max()) + 1)
        ends = self._ends[block]
        if ends.all():
            return ends
        fresh = np.unique(block[ends == 0])
        self._ends[fresh] = np.arange(self._count + 1, self._count + 1 + fresh.size) * BLOCK_BYTES
        self._numbers.append(fresh)
        self._count += fresh.size
        self._bytes = _grown(self._bytes, self._count * BLOCK_BYTES)
        return self._ends[block]


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return *array* padded with zeros to at least *size* entries, and a quarter more, to grow seldom."""
    if size <= array.size:
        return array
    larger = np.zeros(max(size, array.size * 5 // 4), array.dtype)
    larger[: array.size] = array
    return larger
