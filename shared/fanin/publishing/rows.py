"""The rows of a file as JSON texts, in their order: JSON lines, or CSV with a header line."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from fanin.errors import InvalidRequest
from fanin.publishing.packing import BATCH_BYTES, ENVELOPE_BYTES

PART_ROWS = 10_000
PART_BYTES = 32 * 1024 * 1024
"""The rows, and bytes of rows, that are added and sent together at most: what is in memory at a time."""
_REFUSED = ("\ufffe", "\uffff")
"""Characters of JSON that SQS refuses in a message."""
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` decodes a byte to that is not UTF-8."""


class Digest(Protocol):
    """A hash of ``hashlib`` in progress."""

    def update(self, data: bytes, /) -> None: ...


class UnreadableRow(InvalidRequest):
    """A row of the file cannot be sent; the message names its line."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a file has: *rows*, their *size* in bytes of JSON, and the *digest* of all of them."""

    rows: int
    size: int
    digest: str


def survey(path: Path) -> Survey:
    """Read the whole file, and return what it has. Raises UnreadableRow, and InvalidRequest for no file."""
    digest, count, size = hashlib.sha256(), 0, 0
    for row in rows(path):
        count, size = count + 1, size + include(digest, row)
    return Survey(count, size, digest.hexdigest())


def include(digest: Digest, row: str) -> int:
    """Add *row* to the digest of a file; return its bytes."""
    raw = row.encode()
    digest.update(len(raw).to_bytes(8, "big") + raw)
    return len(raw)


def parts(path: Path) -> Iterator[list[str]]:
    """Yield the rows in parts, which depend on the rows alone."""
    part: list[str] = []
    size = 0
    for row in rows(path):
        width = len(row)
        if part and (len(part) == PART_ROWS or size + width > PART_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += width
    if part:
        yield part


def rows(path: Path) -> Iterator[str]:
    """Yield each row as JSON text. Raises UnreadableRow."""
    try:
        for line, text in reader_of(path)(path):
            if len(text.encode()) + ENVELOPE_BYTES > BATCH_BYTES:
                raise _unreadable(path, line, f"its message has more than the {BATCH_BYTES:,} bytes of SQS")
            yield text
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field="file") from error


def reader_of(path: Path) -> Callable[[Path], Iterator[tuple[int, str]]]:
    """Return the reader of a file by its suffix, which yields lines and JSON texts. Raises InvalidRequest."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidRequest(f"{path} is none of {', '.join(READERS)}", field="file")
    return reader


def check_readable(path: Path) -> None:
    """Refuse a file that is not there, cannot be opened, or has another suffix. Raises InvalidRequest."""
    reader_of(path)
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field="file") from error


def header_of(path: Path) -> list[str]:
    """Return the names in the header line of CSV; none for other files, and for one that cannot be read."""
    if path.suffix.lower() != ".csv":
        return []
    try:
        with _csv_text(path) as file:
            return next(csv.reader(_utf8_lines(path, file), strict=True), [])
    except (OSError, csv.Error, UnreadableRow):
        return []


def _json_lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8-sig" if line == 1 else "utf-8").strip(" \t\r\n")
                if text:
                    json.loads(text, parse_constant=_no_constant)
                    yield line, sendable(text)
            except (ValueError, RecursionError) as error:
                raise _unreadable(path, line, f"it is not JSON in UTF-8 ({_fault(error)})") from error


def _json(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the JSON lines of a ``.json`` file, which often has one array in place of lines."""
    for line, text in _json_lines(path):
        if text.startswith("["):
            raise _unreadable(path, line, "it is a JSON array, and a line is one row: jq -c '.[]' divides it")
        yield line, text


def _fault(error: Exception) -> str:
    """Return what is wrong with the text of a line, without a second line number."""
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _csv(path: Path) -> Iterator[tuple[int, str]]:
    """Yield an object of texts for each row, with the names of the header line."""
    with _csv_text(path) as file:
        reader = csv.reader(_utf8_lines(path, file), strict=True)
        try:
            names = next(reader, None)
            if names is None:
                raise InvalidRequest(f"{path} is empty: CSV begins with a header line", field="file")
            if len(set(names)) != len(names):
                raise _unreadable(path, 1, "its header has a name twice")
            for values in reader:
                if values:
                    yield reader.line_num, _object(path, reader.line_num, names, values)
        except csv.Error as error:
            raise _unreadable(path, reader.line_num, f"it is not CSV ({error})") from error


def _csv_text(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _utf8_lines(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of a file, whose decoder reads ahead; refuse the first one that is not UTF-8."""
    for number, line in enumerate(file, 1):
        if _NOT_UTF_8.search(line):
            raise _unreadable(path, number, "it is not UTF-8")
        yield line


def _object(path: Path, line: int, names: list[str], values: list[str]) -> str:
    if len(values) != len(names):
        raise _unreadable(path, line, f"it has {len(values)} values, and the header {len(names)} names")
    return sendable(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False))


def sendable(text: str) -> str:
    """Return *text* without the characters that SQS refuses, which JSON can escape."""
    for character in _REFUSED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unreadable(path: Path, line: int, why: str) -> UnreadableRow:
    return UnreadableRow(f"{path}, line {line}: {why}; nothing was sent", field="file")


READERS = {".jsonl": _json_lines, ".ndjson": _json_lines, ".json": _json, ".csv": _csv}
"""The reader of each suffix."""
