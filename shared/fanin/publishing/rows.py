"""The rows of a source as JSON texts, in parts, and the digest of all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from fanin.publishing.packing import BATCH_BYTES, ENVELOPE_BYTES
from fanin.publishing.row_sources.source import Source, unreadable

PART_ROWS = 10_000
PART_BYTES = 32 * 1024 * 1024
"""The rows, and bytes of rows, that are added and sent together at most: what is in memory at a time."""


class Digest(Protocol):
    """A hash of ``hashlib`` in progress."""

    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Survey:
    """What a source has: *rows*, their *size* in bytes of JSON, and the *digest* of all of them."""

    rows: int
    size: int
    digest: str


def survey(source: Source, report: Callable[[int], object] = lambda _: None) -> Survey:
    """Read the whole source, and return what it has; *report* is called with the rows read, at each part.

    Raises UnreadableRow, and InvalidRequest for no source.
    """
    digest, count, size = hashlib.sha256(), 0, 0
    for row in rows(source):
        count, size = count + 1, size + include(digest, row)
        if count % PART_ROWS == 0:
            report(count)
    return Survey(count, size, digest.hexdigest())


def include(digest: Digest, row: str) -> int:
    """Add *row* to the digest of a source; return its bytes."""
    raw = row.encode()
    digest.update(len(raw).to_bytes(8, "big") + raw)
    return len(raw)


def parts(source: Source) -> Iterator[list[str]]:
    """Yield the rows in parts, which depend on the rows alone."""
    part: list[str] = []
    size = 0
    for row in rows(source):
        width = len(row)
        if part and (len(part) == PART_ROWS or size + width > PART_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += width
    if part:
        yield part


def rows(source: Source) -> Iterator[str]:
    """Yield each row as JSON text. Raises UnreadableRow."""
    for line, text in source.rows():
        if len(text.encode()) + ENVELOPE_BYTES > BATCH_BYTES:
            raise unreadable(source.name, line, f"its message has more than the {BATCH_BYTES:,} bytes of SQS")
        yield text
