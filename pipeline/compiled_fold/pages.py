"""Reads a column from Parquet page by page, by the kernel: of texts it finds the bounds, and copies none.

It reads compressed pages whose values are plain or in a dictionary. Of any other, and of one whose bytes are
not what its header says, it reads nothing: Arrow reads that page and those after it, or raises the error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

MAGIC = {b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip"}
"""The bytes that the pages of a codec begin with; those of snappy begin with their uncompressed size.

pyarrow aborts the process that asks a damaged footer for its codec.
"""
MOST_ROWS = 1 << 22
"""Rows of a page; runs of one entry would else make few bytes of a file fill the memory."""
MOST_BYTES = (1 << 31) - 1
MOST_BITS = 24
"""The most bits of the number of an entry that the kernel reads."""
FIELDS = 16
FALSE_FLAG = -2
"""The fields of a struct, and a flag that is not set, as the kernel writes them."""
LENGTH_BYTES = 4
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
PLAIN, PLAIN_DICTIONARY, _RLE, RLE_DICTIONARY = 0, 2, 3, 8
_NULL = np.array([0, -1], np.int32).view(np.int64)


class NotRead(ValueError):
    """A page has what is not read here, or its bytes are not what its header says."""


Bounds: TypeAlias = NDArray[np.int64]
"""Where each text begins and ends, as two integers of 32 bits; a null begins at 0, and ends before it."""


@dataclass(frozen=True, slots=True)
class Page:
    """The texts of some rows, by their *bounds* in *data*."""

    kernel: ctypes.CDLL
    data: pa.Buffer
    bounds: Bounds

    def __len__(self) -> int:
        return len(self.bounds)

    def texts(self, rows: NDArray[np.int64]) -> pa.StringArray:
        """Return a copy of the texts of *rows*."""
        chosen = self.bounds[rows]
        sizes = _sizes(chosen)
        offsets = np.concatenate([[0], np.cumsum(np.maximum(sizes, 0))]).astype(np.int32)
        copy = np.empty(offsets[-1], np.uint8)
        self.kernel.fanin_copy(chosen.ctypes.data, chosen.size, self.data.address, copy.ctypes.data)
        valid = np.packbits(sizes >= 0, bitorder="little")
        return pa.StringArray.from_buffers(chosen.size, *map(pa.py_buffer, (offsets, copy, valid)))


P = TypeVar("P", bound=Sized)
"""What a page is read as."""


@dataclass(slots=True)
class Chunk(Generic[P]):
    """The column of one row group, as the file has it: *raw*; *is_nullable*: it may have nulls."""

    kernel: ctypes.CDLL
    raw: pa.Buffer
    is_nullable: bool

    def pages(self, rows: int) -> Iterator[P]:
        """Yield the pages of the first *rows*, or those before the first that is not read."""
        at = 0
        while rows:
            try:
                page, at = self._page(at)
            except (NotRead, IndexError, pa.ArrowException, OSError):
                return
            if page is not None:
                if len(page) > rows:
                    return
                rows -= len(page)
                yield page

    def _page(self, begin: int) -> tuple[P | None, int]:
        """Return the page that begins at *begin*, None if it is the dictionary, and where the next begins."""
        found = np.empty((2, FIELDS), np.int64)
        at = self.kernel.fanin_header(self.raw.address, self.raw.size, begin, found.ctypes.data)
        (_, kind, full_size, size, *_), of_kind = found.tolist()
        _, rows, encoding, *_ = of_kind
        if not at or not 0 <= rows <= MOST_ROWS:
            raise NotRead
        body, _ = _split(self.raw[at:], size)
        if kind == _DATA:
            return self._data(body, full_size, of_kind), at + size
        if kind == _DATA_2:
            return self._data_2(body, full_size, of_kind), at + size
        if kind != _DICTIONARY or begin or encoding not in (PLAIN, PLAIN_DICTIONARY):
            raise NotRead
        self._keep_entries(_decompressed(body, full_size), rows)
        return None, at + size

    def _data(self, body: pa.Buffer, size: int, of_kind: list[int]) -> P:
        """Return a data page of version 1, in which the length of the levels is before them."""
        _, rows, encoding, of_levels, of_repetitions, *_ = of_kind
        values, levels = _decompressed(body, size), None
        if min(of_repetitions, of_levels) < 0 or (self.is_nullable and of_levels != _RLE):
            raise NotRead
        if self.is_nullable:
            length, values = _split(values, LENGTH_BYTES)
            levels, values = _split(values, int.from_bytes(length, "little"))
        return self._read(rows, encoding, self._flags(levels, rows), values)

    def _data_2(self, body: pa.Buffer, size: int, of_kind: list[int]) -> P:
        """Return a data page of version 2, which does not compress its levels."""
        _, entries, nulls, rows, encoding, level_bytes, repetition_bytes, is_compressed, *_ = of_kind
        if rows != entries or repetition_bytes or (level_bytes and not self.is_nullable):
            raise NotRead
        levels, values = _split(body, level_bytes)
        if is_compressed != FALSE_FLAG:
            values = _decompressed(values, size - level_bytes)
        elif body.size != size:
            raise NotRead
        flags = self._flags(levels if self.is_nullable else None, rows)
        if nulls != (0 if flags is None else rows - np.count_nonzero(flags)):
            raise NotRead
        return self._read(rows, encoding, flags, values)

    def _flags(self, levels: pa.Buffer | None, rows: int) -> NDArray[np.int32] | None:
        """Return 1 for each row that is not null; None if no row is."""
        if levels is None or levels.equals(pa.py_buffer(_varint(rows << 1) + b"\1")):  # one run, of ones
            return None
        flags = self._hybrid(levels, 1, rows)
        if flags.max(initial=0) > 1:
            raise NotRead
        return flags

    def _hybrid(self, packed: pa.Buffer, width: int, count: int) -> NDArray[np.int32]:
        """Return numbers of *width* bits, in runs or packed."""
        found = np.empty(count, np.int32)
        if width > MOST_BITS or not self.kernel.fanin_hybrid(
            packed.address, packed.size, width, count, found.ctypes.data
        ):
            raise NotRead
        return found

    def _keep_entries(self, values: pa.Buffer, count: int) -> None:
        """Keep the entries of the dictionary, so many plain *values*."""
        raise NotImplementedError  # texts and numbers each have their own

    def _read(self, rows: int, encoding: int, flags: NDArray[np.int32] | None, values: pa.Buffer) -> P:
        """Return the page of these *values*, and of nulls where *flags* are 0."""
        raise NotImplementedError  # texts and numbers each have their own


@dataclass(slots=True)
class ColumnChunk(Chunk[Page]):
    """A column of texts."""

    _entries: tuple[pa.Buffer, Bounds] | None = field(init=False, default=None)

    def _keep_entries(self, values: pa.Buffer, count: int) -> None:
        self._entries = self._values(PLAIN, values, count)

    def _read(self, rows: int, encoding: int, flags: NDArray[np.int32] | None, values: pa.Buffer) -> Page:
        if flags is None:
            return Page(self.kernel, *self._values(encoding, values, rows))
        data, found = self._values(encoding, values, int(flags.sum()))
        bounds = np.full(rows, _NULL)
        bounds[flags == 1] = found
        return Page(self.kernel, data, bounds)

    def _values(self, encoding: int, values: pa.Buffer, count: int) -> tuple[pa.Buffer, Bounds]:
        """Return the data of so many texts, and their bounds. Raises IndexError if an entry is not there."""
        if encoding == PLAIN:
            found = np.empty(count, np.int64)
            if not self.kernel.fanin_bounds(values.address, values.size, count, found.ctypes.data):
                raise NotRead
            return values, found
        if encoding not in (PLAIN_DICTIONARY, RLE_DICTIONARY) or self._entries is None:
            raise NotRead
        data, entries = self._entries
        found = entries[self._hybrid(values[1:], values[0], count)]
        if _sizes(found).sum() > MOST_BYTES:
            raise NotRead
        return data, found


def column_chunk(
    kernel: ctypes.CDLL, source: pa.NativeFile, file: pq.ParquetFile, group: int, name: str
) -> ColumnChunk | None:
    """Return the texts *name* of the row group *group*; None if it is not a column that is read here."""
    if file.schema_arrow.field(name).type not in (pa.string(), pa.large_string()):
        return None
    found = in_file(source, file, group, name)
    return ColumnChunk(kernel, *found) if found else None


def in_file(
    source: pa.NativeFile, file: pq.ParquetFile, group: int, name: str
) -> tuple[pa.Buffer, bool] | None:
    """Return a compressed column as the file has it, and whether it may have nulls; None of any other."""
    number = [file.schema.column(number).path for number in range(len(file.schema))].index(name)
    part = file.metadata.row_group(group).column(number)
    starts = part.data_page_offset, part.dictionary_page_offset or part.data_page_offset
    start, size = min(starts), part.total_compressed_size
    if part.file_path or start < 0 or not 0 <= size <= source.size() - start:
        return None
    if size >= part.total_uncompressed_size:
        return None  # Arrow reads an uncompressed column as fast.
    is_nullable = file.schema.column(number).max_definition_level == 1
    return pa.py_buffer(source.read_at(size, start)), is_nullable


def _sizes(bounds: Bounds) -> NDArray[np.int64]:
    """Return the length of each text, -1 of a null."""
    ends = bounds.view(np.int32).reshape(-1, 2).astype(np.int64)
    return ends[:, 1] - ends[:, 0]


def _varint(number: int) -> bytes:
    """Return *number* in groups of seven bits, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _split(data: pa.Buffer, size: int) -> tuple[pa.Buffer, pa.Buffer]:
    if not 0 <= size <= data.size:
        raise NotRead
    return data[:size], data[size:]


def _decompressed(body: pa.Buffer, size: int) -> pa.Buffer:
    """Return the *size* bytes that were compressed to *body*. Raises NotRead, OSError or ArrowException."""
    head = body[:5].to_pybytes()
    codec = next((codec for magic, codec in MAGIC.items() if head.startswith(magic)), "snappy")
    # Of fewer bytes, snappy and gzip would return the others as they were in memory.
    if size < 0 or (codec == "snappy" and not head.startswith(_varint(size))):
        raise NotRead
    if codec == "gzip" and body[-LENGTH_BYTES:].to_pybytes() != size.to_bytes(LENGTH_BYTES, "little"):
        raise NotRead
    return _codec(codec).decompress(body, size)


@cache
def _codec(name: str) -> pa.Codec:
    return pa.Codec(name)
