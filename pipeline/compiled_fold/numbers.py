"""Reads columns of integers from Parquet by pages, as `pages` does of texts: each is copied once at most."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipeline.compiled_fold.pages import (
    PLAIN,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
    Chunk,
    NotRead,
    in_file,
)

KINDS = (pa.int32(), pa.int64())
"""The types that are read; Parquet has integers of other types in as many bytes."""
ROWS_AT_ONCE = 1 << 17
"""Integers of so many rows remain in the cache of a core."""


@dataclass(slots=True)
class NumberChunk(Chunk[NDArray[Any]]):
    """A column of integers of *kind*; a page with a null is not read."""

    kind: pa.DataType
    _entries: NDArray[Any] | None = field(init=False, default=None)

    def arrays(self, rows: int) -> Iterator[pa.Array]:
        """Yield the first *rows*, or those before the first page that is not read, ROWS_AT_ONCE in each."""
        found, size = self._empty(), 0
        for page in self.pages(rows):
            read = 0
            while read < page.size:
                some = page[read : read + found.size - size]
                found[size : size + some.size] = some
                size, read = size + some.size, read + some.size
                if size == found.size:
                    yield self._array(found)
                    found, size = self._empty(), 0
        if size:
            yield self._array(found[:size])

    def _empty(self) -> NDArray[Any]:
        return np.empty(ROWS_AT_ONCE, self.kind.to_pandas_dtype())

    def _array(self, found: NDArray[Any]) -> pa.Array:
        return pa.Array.from_buffers(self.kind, found.size, [None, pa.py_buffer(found)], 0)

    def _keep_entries(self, values: pa.Buffer, count: int) -> None:
        self._entries = self._plain(values, count)

    def _read(
        self, rows: int, encoding: int, flags: NDArray[np.int32] | None, values: pa.Buffer
    ) -> NDArray[Any]:
        if flags is not None:
            raise NotRead
        if encoding == PLAIN:
            return self._plain(values, rows)
        if encoding not in (PLAIN_DICTIONARY, RLE_DICTIONARY) or self._entries is None:
            raise NotRead
        return self._entries[self._hybrid(values[1:], values[0], rows)]

    def _plain(self, values: pa.Buffer, count: int) -> NDArray[Any]:
        if values.size != count * self.kind.bit_width // 8:
            raise NotRead
        return np.frombuffer(values, self.kind.to_pandas_dtype())


def number_chunk(
    kernel: ctypes.CDLL, source: pa.NativeFile, file: pq.ParquetFile, group: int, name: str
) -> NumberChunk | None:
    """Return the integers *name* of the row group *group*; None if it is not a column that is read here."""
    kind = file.schema_arrow.field(name).type
    found = in_file(source, file, group, name) if kind in KINDS else None
    return NumberChunk(kernel, *found, kind) if found else None


def batches(chunks: Sequence[NumberChunk], names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the columns *names* of the first *rows*, or those before the first page that is not read."""
    for columns in zip(*(chunk.arrays(rows) for chunk in chunks), strict=False):
        size = min(map(len, columns))
        yield pa.RecordBatch.from_arrays([column.slice(0, size) for column in columns], list(names))
        if size < ROWS_AT_ONCE:
            return
