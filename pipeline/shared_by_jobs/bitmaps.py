"""Bitmaps of which items of a batch are acked, as numpy and Arrow arrays. Pure.

A page mask is the bits of one page in 128 bytes: bit *i* is bit ``i % 8`` of byte ``i // 8``, and 1 if the
item is acked. Spark's bitmap functions use the same layout. A block is 32 neighbouring pages in 4,096 bytes;
between tasks it is packed, if it has few items. The bits of a page are counted by the tracker's
`PAGE_BITS_MAX`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from itertools import pairwise
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
BIT_SHIFT = PAGE_SHIFT + BLOCK_SHIFT
DENSE = 8
"""Bits for each item up to which a byte per bit is faster than to find the byte of each item."""
LONG_BITS = 64
LONG_SHIFT = LONG_BITS.bit_length() - 1
MOST_LONGS = 1 << 18
"""Longs of ranges that are set at once."""
_LONG = "<u8"
OFFSET = np.dtype("<u2")
"""A bit of a block by its number."""
SPARSE = 512
"""The most items of a block that are passed on by their numbers: of more, the compression of a shuffle makes
less than twice the bytes of the bits, for less CPU."""
_ONES = np.array((1 << LONG_BITS) - 1, _LONG)

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


def masks_of(page_masks: Iterable[bytes | None]) -> Masks:
    """Return the mask of each page; None, of a page that is not stored, is all zeros."""
    return as_rows(mask or bytes(MASK_BYTES) for mask in page_masks)


def to_column(masks: Masks) -> pa.Array:
    """Return an Arrow array with one binary value per row."""
    offsets = np.arange(masks.shape[0] + 1, dtype=np.int32) * masks.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(masks))]
    return pa.Array.from_buffers(pa.binary(), masks.shape[0], buffers)


def from_column(column: pa.Array) -> Masks:
    """Return the rows of a column without nulls, the inverse of :func:`to_column`; they share its memory."""
    if not len(column):
        return as_rows([])
    column = column.cast(pa.binary())
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].reshape(len(column), -1)


def packed(blocks: Masks) -> pa.Array:
    """Return an Arrow array with a value per block: the numbers of its items if they are few, else its bits.

    A shuffle of items in no order has nearly each block from each task, with few items in it.
    """
    sparse = popcount(blocks) <= SPARSE
    if not sparse.any():
        return to_column(blocks)
    found = iter(_offsets(blocks[sparse]))
    values = [next(found) if few else block.tobytes() for block, few in zip(blocks, sparse, strict=True)]
    return pa.array(values, pa.binary())


def unpacked(value: bytes) -> Masks:
    """Return the bits of the block that *value* of :func:`packed` stands for."""
    if len(value) == BLOCK_BYTES:
        return np.frombuffer(value, np.uint8)
    flags = np.zeros(BLOCK_BITS, np.bool_)
    flags[np.frombuffer(value, OFFSET)] = True
    return np.packbits(flags, bitorder="little")


def _offsets(blocks: Masks) -> list[bytes]:
    """Return the numbers of the bits that are set in each block, ascending."""
    longs = np.ascontiguousarray(blocks).view(_LONG).ravel()
    some = np.flatnonzero(longs != 0)
    bits = np.flatnonzero(np.unpackbits(longs[some].view(np.uint8), bitorder="little").view(np.bool_))
    items = some[bits >> LONG_SHIFT] * LONG_BITS + (bits & LONG_BITS - 1)
    bounds = np.searchsorted(items, np.arange(len(blocks) + 1) * BLOCK_BITS).tolist()
    found = (items & BLOCK_BITS - 1).astype(OFFSET)
    return [found[first:last].tobytes() for first, last in pairwise(bounds)]


def popcount(masks: Masks) -> Longs:
    """Return the number of bits set in each row."""
    longs = np.ascontiguousarray(masks).view(_LONG)
    counts: Longs = np.bitwise_count(longs).sum(axis=-1, dtype=np.int64)
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


class Memory(ctypes.Structure):
    """Where the bytes of a Fold are, as pipeline/compiled_fold/kernel.c reads and writes it."""

    count: int
    """Blocks that have a place, with the first, which no number has."""
    _fields_ = (
        *(("starts", ctypes.c_void_p), ("blocks", ctypes.c_void_p)),
        *((name, ctypes.c_int64) for name in ("numbers", "capacity", "count", "page_bits")),
    )


class Fold:
    """Collects positions of one batch in one bit each: an eighth of a byte per item."""

    def __init__(self, page_bits: int) -> None:
        self._page_bits = page_bits
        self._starts: Longs = np.zeros(1, np.int64)
        """Where the bytes of each block begin; 0 if no position of the block was added."""
        self._blocks: Masks = np.zeros((1, BLOCK_BYTES), np.uint8)
        """The blocks in the order of their first positions, after one that no number has."""
        self._in_order = 0
        """Blocks from the first on that are stored one after another."""
        self.memory = Memory(count=1, page_bits=page_bits)
        self.reserve(0, 0)

    def reserve(self, number: int, blocks: int = 1) -> None:
        """Make room for so many *blocks* more, none of a greater *number*."""
        self._starts = _grown(self._starts, number + 1)
        self._blocks = _grown(self._blocks, self.memory.count + blocks)
        self.memory.starts, self.memory.numbers = self._starts.ctypes.data, self._starts.size
        self.memory.blocks, self.memory.capacity = self._blocks.ctypes.data, len(self._blocks)

    def add(self, items: Longs) -> None:
        """Set the bits of the positions *items*, each 0 or more."""
        if not items.size:
            return
        bits = self._bits(items)
        first, last = int(bits.min()) >> BIT_SHIFT, int(bits.max()) >> BIT_SHIFT
        if (last - first + 1) * BLOCK_BITS <= DENSE * bits.size:
            self._add_dense(bits, first, last)
            return
        masks = np.left_shift(np.uint8(1), (bits & 7).astype(np.uint8))
        at = self._bytes_of(bits, last)
        _unite(self._blocks.ravel(), at, masks)

    def add_ranges(self, first: Longs, last: Longs) -> None:
        """Set the bits of the positions *first* to *last*, both inclusive, of each range."""
        for some in portioned(first, last) if first.size else ():
            low, high = some if self._page_bits == PAGE_BITS_MAX else cut(*some, self._page_bits)
            self._add_longs(*cut(self._bits(low), self._bits(high), LONG_BITS))

    def blocks(self) -> tuple[Longs, Masks]:
        """Return the numbers of the blocks that hold any item, ascending, and their bytes."""
        numbers = np.flatnonzero(self._starts)
        return numbers, self._bytes_of_blocks(numbers)

    def parts(self, blocks: int) -> Iterator[tuple[Longs, Masks]]:
        """Yield the same in parts of so many *blocks*."""
        numbers = np.flatnonzero(self._starts)
        for at in range(0, numbers.size, blocks):
            some = numbers[at : at + blocks]
            yield some, self._bytes_of_blocks(some)

    def _bytes_of_blocks(self, numbers: Longs) -> Masks:
        found: Masks = self._blocks[self._starts[numbers] // BLOCK_BYTES]
        return found

    def _bits(self, items: Longs) -> Longs:
        """Return where each item would be if all blocks were stored one after another."""
        if self._page_bits == PAGE_BITS_MAX:
            return items
        pages = items // self._page_bits
        return items - pages * self._page_bits + (pages << PAGE_SHIFT)

    def _add_dense(self, bits: Longs, first: int, last: int) -> None:
        """Set *bits* of the blocks *first* to *last*, by a byte per bit."""
        flags = np.zeros((last - first + 1) * BLOCK_BITS, np.bool_)
        flags[bits - first * BLOCK_BITS] = True
        masks = np.packbits(flags, bitorder="little").reshape(-1, BLOCK_BYTES)
        rows = np.flatnonzero(masks.any(axis=1))
        starts = self._starts_of(rows + first)
        self._blocks[starts // BLOCK_BYTES] |= masks[rows]

    def _add_longs(self, first: Longs, last: Longs) -> None:
        """Set the bits of ranges that each lie within one long."""
        masks = _ONES << (first & (LONG_BITS - 1)).astype(np.uint64)
        masks &= _ONES >> (~last & (LONG_BITS - 1)).astype(np.uint64)
        at = self._bytes_of(first, int(first.max()) >> BIT_SHIFT)
        at >>= LONG_SHIFT - 3
        _unite(self._blocks.ravel().view(_LONG), at, masks)

    def _bytes_of(self, bits: Longs, last: int) -> Longs:
        """Return where the byte of each of *bits* is, of which the greatest is in the block *last*."""
        at = bits >> 3
        if last < self._in_order:
            at += BLOCK_BYTES
            return at
        starts = self._starts_of(bits >> BIT_SHIFT)
        at &= BLOCK_BYTES - 1
        at += starts
        return at

    def _starts_of(self, block: Longs) -> Longs:
        """Return where the bytes of each of *block* begin, after a block that has none was assigned some."""
        if (last := int(block.max())) >= self._starts.size:
            self.reserve(last, 0)
        starts = self._starts[block]
        if starts.min():
            return starts
        fresh, count = np.unique(block[starts == 0]), self.memory.count
        self.reserve(last, fresh.size)
        self._starts[fresh] = np.arange(count, count + fresh.size) * BLOCK_BYTES
        if self._in_order == count - 1 == fresh[0] == fresh[-1] - fresh.size + 1:
            self._in_order += fresh.size
        self.memory.count += fresh.size
        return self._starts[block]


def portioned(first: Longs, last: Longs) -> Iterator[tuple[Longs, Longs]]:
    """Yield the ranges in portions of about MOST_LONGS longs; if there are more, united before."""
    longs = (last >> LONG_SHIFT) - (first >> LONG_SHIFT) + 1
    if longs.sum() <= MOST_LONGS:
        yield first, last
        return
    first, last = cut(*united(first, last), MOST_LONGS * LONG_BITS)
    before = np.cumsum((last >> LONG_SHIFT) - (first >> LONG_SHIFT) + 1) // MOST_LONGS
    ends = np.flatnonzero(np.diff(before)) + 1
    yield from zip(np.split(first, ends), np.split(last, ends), strict=True)


def united(first: Longs, last: Longs) -> tuple[Longs, Longs]:
    """Return the union of the ranges as ranges that do not overlap, ascending."""
    order = np.argsort(first)
    first, last = first[order], np.maximum.accumulate(last[order])
    begins = np.flatnonzero(np.concatenate([[True], first[1:] > last[:-1] + 1]))
    ends = np.append(begins[1:], first.size) - 1
    return first[begins], last[ends]


def cut(first: Longs, last: Longs, size: int) -> tuple[Longs, Longs]:
    """Return the same items as ranges that each lie between two neighbouring multiples of *size*."""
    part = first // size
    counts = last // size - part + 1
    if counts.max() == 1:
        return first, last
    if counts.max() == 2:
        second = np.flatnonzero(counts == 2)
        begins = part * size + size
        return np.append(first, begins[second]), np.append(np.minimum(last, begins - 1), last[second])
    ranges = np.repeat(np.arange(counts.size), counts)
    part = part[ranges] + np.arange(ranges.size) - (np.cumsum(counts) - counts)[ranges]
    return np.maximum(first[ranges], part * size), np.minimum(last[ranges], part * size + size - 1)


def _unite(held: NDArray[Any], at: Longs, masks: NDArray[Any]) -> None:
    """Set the bits *masks* of the entries *at*, which may be repeated."""
    found = held[at]
    found |= masks
    held[at] = found
    # Of a repeated entry the last write stays; what the others set is set again, one by one.
    lost = np.flatnonzero((held[at] & masks) != masks)
    if lost.size:
        np.bitwise_or.at(held, at[lost], masks[lost])


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return *array* padded with zeros to at least *size* entries, and twice its own, to grow seldom.

    Of a large array, zeros that are not used take no memory.
    """
    if size <= len(array):
        return array
    larger = np.zeros((max(size, len(array) * 2), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
