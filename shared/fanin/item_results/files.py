"""Files of results in the order of the items: written one by one, and read from any item on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Self

from fanin.errors import StoreUnavailable
from fanin.item_results.lines import Line, content_of, lines_of
from fanin.item_results.objects import Objects

FILE_BYTES = 8 * 2**20
"""Bytes of the lines of one file, before they are compressed: 10^6 results of 200 bytes are 40 files."""
LEVEL = 3
"""Of compression: at 6 a file takes three times the CPU, and is a tenth smaller."""


@dataclass(frozen=True, slots=True)
class File:
    """A gzipped file with the results of the items *first* to *last*, by their positions in the batch.

    *items*: how many have a result. *size*: its bytes, compressed.
    """

    name: str
    first: int
    last: int
    items: int
    size: int


@dataclass(frozen=True, slots=True)
class Index:
    """Files that follow each other in the order of the items: the results of a batch, or a part of them."""

    files: tuple[File, ...]

    @property
    def items(self) -> int:
        return sum(file.items for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def dump(self) -> bytes:
        return json.dumps([astuple(file) for file in self.files], separators=(",", ":")).encode()

    @classmethod
    def load(cls, content: bytes) -> Self:
        return cls(tuple(File(*each) for each in json.loads(content)))


def write(objects: Objects, name: str, lines: Sequence[Line]) -> File:
    """Write the file of *lines*, at least one, under *name*."""
    body = gzip.compress(content_of(lines), compresslevel=LEVEL, mtime=0)
    objects.put(name, body)
    return File(name, lines[0][0], lines[-1][0], len(lines), len(body))


def cut(lines: Iterable[Line], most: int = FILE_BYTES) -> Iterator[list[Line]]:
    """Yield the lines of each file, in order."""
    some: list[Line] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line[1]) + 1
        if size >= most:
            yield some
            some, size = [], 0
    if some:
        yield some


def read(objects: Objects, index: Index, start: int = 0) -> Iterator[Line]:
    """Yield the lines of *index* from the item at *start* on; one file at a time is in memory."""
    for file in index.files:
        if file.last >= start:
            for line in lines_of(gzip.decompress(stored(objects, file.name))):
                if line[0] >= start:
                    yield line


def stored(objects: Objects, name: str) -> bytes:
    """Return an object that was written. Raises StoreUnavailable where it is gone."""
    content = objects.get(name)
    if content is None:
        raise StoreUnavailable(f"the object {name} was removed: the batch was deleted, or has expired")
    return content
