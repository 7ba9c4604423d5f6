"""Reads damaged pages of Parquet where each input and output of the kernel ends at memory without access.

``python -m tests.pipeline.compiled_fold.guarded_memory LIBRARY SEEDS [BEYOND]``: a read or write beyond ends
the process by a signal, after the seed was printed. BEYOND: bytes that the kernel is to read beyond a page.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.compiled_fold import pages
from pipeline.compiled_fold.groups import KnownGroups
from pipeline.compiled_fold.loading import load
from pipeline.compiled_fold.numbers import NumberChunk
from pipeline.compiled_fold.pages import FIELDS, MOST_BITS, ColumnChunk, Page
from pipeline.shared_by_jobs.bitmaps import Fold
from tests.pipeline.compiled_fold import other_writers
from tests.pipeline.compiled_fold.test_groups import GROUPS
from tests.pipeline.compiled_fold.test_pages import READING, WRITERS

_C = ctypes.CDLL(None, use_errno=True)

HEADERS = (b"\x1c" * (1 << 20), b"\x18" + b"\xff" * 8 + b"\x7f")
"""Structs within structs, and a text of the greatest length."""


def guarded(data: bytes) -> pa.Buffer:
    """A copy of *data* that ends where the memory ends."""
    end = -(-len(data) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, end + mmap.PAGESIZE)
    memory[end - len(data) : end] = data
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + end
    if _C.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    return pa.foreign_buffer(address - len(data), len(data), base=memory)


def empty(shape: Any, dtype: Any = float) -> np.ndarray:
    """What `numpy.empty` returns, with its end where the memory ends."""
    kind = np.dtype(dtype)
    memory = guarded(bytes(int(np.prod(shape)) * kind.itemsize))
    address = (ctypes.c_char * memory.size).from_address(memory.address)
    address.memory = memory
    return np.frombuffer(address, kind).reshape(shape)


def damaged(random: Random, data: bytes) -> bytes:
    """*data*, or a part of it, or with other bytes."""
    changed = bytearray(data)
    for _ in range(random.choice([0, 0, 1, 3]) if data else 0):
        at = random.choice([random.randrange(len(data)), random.randrange(min(9, len(data)))])
        changed[at] = random.choice(
            [0, 1, 255, changed[at] ^ 1 << random.randrange(8), random.randrange(256)]
        )
    return bytes(changed[: random.choice([len(data), len(data), random.randrange(len(data) + 1)])])


def numbers(random: Random, width: int) -> Iterator[bytes]:
    """Runs, and packed numbers of *width* bits."""
    for _ in range(random.randrange(5)):
        length, is_packed = random.choice([0, 1, 2, 9, 200]), random.random() < 0.5
        size = length * width if is_packed else (width + 7) // 8
        yield pages._varint(length << 1 | is_packed) + random.randbytes(size)


def read_numbers(kernel: ctypes.CDLL, random: Random) -> None:
    """Read numbers, of which there may be more or fewer."""
    width, count = random.randrange(MOST_BITS + 1), random.choice([0, 1, 7, 8, 17, 90, 1700])
    data, found = guarded(damaged(random, b"".join(numbers(random, width)))), empty(count, np.int32)
    kernel.fanin_hybrid(data.address, data.size, width, count, found.ctypes.data)


def read_header(kernel: ctypes.CDLL, header: bytes) -> None:
    data, found = guarded(header), empty((2, FIELDS), np.int64)
    kernel.fanin_header(data.address, data.size, 0, found.ctypes.data)


def read_pages(chunk: ColumnChunk | NumberChunk, random: Random, rows: int) -> int:
    """Read a damaged chunk, fold its pages and copy their texts; the number of their rows."""
    decompressed, known, read = pages._decompressed, KnownGroups(chunk.kernel), 0
    for head, size in GROUPS:
        known.add(head, 0, size, Fold(1024))

    def damaging(body: pa.Buffer, size: int) -> pa.Buffer:
        return guarded(damaged(random, decompressed(body, size).to_pybytes()))

    raw = guarded(damaged(random, chunk.raw.to_pybytes()))
    with patch.object(pages, "_decompressed", damaging), patch.object(np, "empty", empty):
        for page in replace(chunk, raw=raw).pages(rows):
            if isinstance(page, Page):
                list(known.fold_page(page, None))
                page.texts(np.arange(len(page)))
            else:
                last = random.choice([None, page])
                list(known.fold_numbers([GROUPS[0][0]], slice(None), (page, last), None))
            read += len(page)
    return read


def chunks(kernel: ctypes.CDLL, path: Path) -> Iterator[tuple[ColumnChunk | NumberChunk, int]]:
    """The chunks of the item ids or the indexes of a file, and their rows."""
    with pa.OSFile(str(path)) as source:
        file = pq.ParquetFile(source)
        for group in range(file.num_row_groups):
            for name in READING.keys() & file.schema_arrow.names:
                if chunk := READING[name](kernel, source, file, group, name):
                    yield chunk, file.metadata.row_group(group).num_rows


def read_beyond(kernel: ctypes.CDLL, size: int) -> None:
    data, found = guarded(b""), empty(1, np.int64)
    kernel.fanin_bounds(data.address, size, 1, found.ctypes.data)


def main(library: str, seeds: str, beyond: str = "0") -> None:
    kernel, read, files = load(Path(library)), 0, sorted(other_writers.FOLDER.glob("*.parquet"))
    assert kernel
    with TemporaryDirectory() as folder:
        for seed in range(int(seeds)):
            print(seed, flush=True)
            random, path = Random(seed), Path(folder) / "log.parquet"
            random.choice(list(WRITERS.values()))(random, path)
            for _ in range(40):
                read_numbers(kernel, random)
            for chunk, rows in chunks(kernel, random.choice([path, *files])):
                for size in range(min(70, chunk.raw.size)):
                    read_header(kernel, damaged(random, chunk.raw[:size].to_pybytes()))
                read += sum(read_pages(chunk, random, rows) for _ in range(4))
    for header in HEADERS:
        read_header(kernel, header)
    read_beyond(kernel, int(beyond))
    print(f"{read} rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
