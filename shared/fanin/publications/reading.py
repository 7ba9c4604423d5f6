"""Reads the parts of an object from a place on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from fanin.publications.model import Place
from fanin.publishing.packing import BATCH_BYTES, ENVELOPE_BYTES
from fanin.publishing.sources.lines import json_lines
from fanin.publishing.sources.objects import StoredObject
from fanin.publishing.sources.source import unreadable

PART_BYTES = 8 * 1024 * 1024
"""Bytes that are read for a part, beside its last line."""


@dataclass(frozen=True, slots=True)
class Part:
    """The *rows* between two places; *place* is the second one."""

    rows: tuple[str, ...]
    place: Place


def parts_of(stored: StoredObject, place: Place, most: int) -> Iterator[Part]:
    """Yield the parts of *most* rows from *place* on. Raises UnreadableRow, SourceChanged."""
    with stored.open() as file:
        file.seek(place.read)
        while place.read < place.size:
            part = _part(stored.name, file, place, most)
            place = part.place
            yield part


def _part(name: str, file: BinaryIO, place: Place, most: int) -> Part:
    lines = _Lines(file)
    rows = []
    for line, text in islice(json_lines(name, lines, place.line + 1), most):
        if len(text.encode()) + ENVELOPE_BYTES > BATCH_BYTES:
            raise unreadable(name, line, f"its message has more than the {BATCH_BYTES:,} bytes of SQS")
        rows.append(text)
    after = replace(
        place,
        read=place.read + lines.size,
        rows=place.rows + len(rows),
        parts=place.parts + 1,
        line=place.line + lines.count,
    )
    return Part(tuple(rows), after)


class _Lines:
    """The lines of a part, and the bytes that were read of them; none after ``PART_BYTES``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size, self.count = file, 0, 0

    def __iter__(self) -> Iterator[bytes]:
        while self.size < PART_BYTES and (line := self._file.readline()):
            self.size += len(line)
            self.count += 1
            yield line
