"""Finds the object of a publication, and reads its parts from a position on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from botocore.exceptions import ClientError

from fanin.client.items import Items
from fanin.errors import InvalidRequest
from fanin.publishing.items import Row
from fanin.publishing.packing import BATCH_BYTES, ENVELOPE_BYTES
from fanin.publishing.row_sources.formats import title_of
from fanin.publishing.row_sources.lines import csv_lines, json_lines
from fanin.publishing.row_sources.objects import StoredObject
from fanin.publishing.row_sources.source import NumberedRow, unreadable
from fanin.s3_publications.model import CSV, Order, Position
from fanin.tracker import GroupId

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["Part", "object_of", "parts_of", "readable", "stored_at", "title_of"]

Reader = Callable[[str, Iterable[bytes], int], Iterator[NumberedRow]]
"""Reads lines of an object, of its name, from the line of a number on."""
PART_BYTES = 8 * 1024 * 1024
"""Bytes that are read for a part, beside its last line."""
REFUSED = {"403", "AccessDenied"}
"""Codes of S3 for an object that may not be read, or that does not exist, if its bucket may not be listed."""


@dataclass(frozen=True, slots=True)
class Part:
    """The *rows* between two positions; *position* is the second one."""

    rows: tuple[str, ...]
    position: Position

    def of_group(self, batch_id: str, group_id: str) -> Iterator[Row]:
        """Yield the rows as those of the items of a group of as many."""
        group, items = GroupId.decode(group_id), Items(batch_id, group_id, len(self.rows))
        start = group.start if group else 0
        for index, record in enumerate(self.rows):
            yield Row(1, start + index, items[index], record)


def object_of(client: S3Client, order: Order) -> StoredObject:
    """Return the object as it is now. Raises InvalidRequest if there is none, and ClientError."""
    return StoredObject.at(client, *order.object)


def readable(client: S3Client, order: Order) -> StoredObject:
    """Return the object as it is now. Raises InvalidRequest if there is none, or S3 refuses it."""
    try:
        return object_of(client, order)
    except ClientError as error:
        if error.response["Error"]["Code"] not in REFUSED:
            raise
        raise InvalidRequest(
            f"S3 refuses {order.source}: there is no such object, or continue_publication may not read it"
        ) from error


def stored_at(client: S3Client, order: Order, position: Position) -> StoredObject:
    """Return the object that was found before *position*."""
    return StoredObject(client, *order.object, position.size, position.etag)


def parts_of(stored: StoredObject, position: Position, most: int) -> Iterator[Part]:
    """Yield the parts of *most* rows from *position* on. Raises UnreadableRow, SourceChanged."""
    with stored.open() as file:
        reader = _reader(stored, file)
        file.seek(position.read)
        while not position.is_end:
            part = _part(stored.name, file, position, most, reader)
            position = part.position
            yield part


def _reader(stored: StoredObject, file: BinaryIO) -> Reader:
    """Return the reader of lines of the object's format; that of CSV needs the first line."""
    if not stored.key.lower().endswith(CSV):
        return json_lines
    header = next(iter(_Lines(stored.name, file, 0)), b"")
    return lambda name, lines, first: csv_lines(name, lines, header, first)


def _part(name: str, file: BinaryIO, position: Position, most: int, reader: Reader) -> Part:
    lines = _Lines(name, file, position.line)
    rows = []
    for line, text in islice(reader(name, lines, position.line + 1), most):
        if len(text.encode()) + ENVELOPE_BYTES > BATCH_BYTES:
            raise _too_long(name, line)
        rows.append(text)
    after = replace(
        position,
        read=position.read + lines.size,
        rows=position.rows + len(rows),
        parts=position.parts + 1,
        line=lines.last,
    )
    return Part(tuple(rows), after)


class _Lines:
    """The lines of a part, and the bytes that were read of them; none after ``PART_BYTES``.

    *last*: the number of the last line that was read.
    """

    def __init__(self, name: str, file: BinaryIO, last: int) -> None:
        self._name, self._file, self.last, self.size = name, file, last, 0

    def __iter__(self) -> Iterator[bytes]:
        most = 2 * BATCH_BYTES  # no line is held in memory that is much longer than a message
        while self.size < PART_BYTES and (line := self._file.readline(most)):
            self.size += len(line)
            self.last += 1
            if len(line) == most:
                raise _too_long(self._name, self.last)
            yield line


def _too_long(name: str, line: int) -> InvalidRequest:
    return unreadable(name, line, f"its message has more than the {BATCH_BYTES:,} bytes of SQS")
