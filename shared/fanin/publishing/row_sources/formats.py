"""The reader of a file by the suffix of its name; after ``.gz``, of what it unpacks to."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from fanin.errors import InvalidRequest
from fanin.publishing.row_sources.lines import csv_header, csv_rows, json_file, json_lines
from fanin.publishing.row_sources.parquet import parquet_rows
from fanin.publishing.row_sources.source import NumberedRow, UnreadableRow

Reader = Callable[[str, BinaryIO], Iterator[NumberedRow]]
READERS: dict[str, Reader] = {
    ".jsonl": json_lines,
    ".ndjson": json_lines,
    ".json": json_file,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""The reader of each suffix, of a name and an open file."""
GZIP = ".gz"
BROKEN = (gzip.BadGzipFile, EOFError, zlib.error)


def rows_of(name: str, file: BinaryIO) -> Iterator[NumberedRow]:
    """Yield the rows of an open file. Raises UnreadableRow, InvalidRequest."""
    reader = READERS[check_suffix(name)]
    try:
        yield from reader(name, unpacked(name, file))
    except BROKEN as error:
        raise InvalidRequest(f"{name} is not gzip: {error}", field="file") from error


def header_of(name: str, file: BinaryIO) -> list[str]:
    """Return the names in the header line of CSV; none for other files, and for one that cannot be read."""
    if check_suffix(name) != ".csv":
        return []
    try:
        return csv_header(name, unpacked(name, file))
    except (csv.Error, UnreadableRow, *BROKEN):
        return []


def unpacked(name: str, file: BinaryIO) -> BinaryIO:
    """Return *file*, or what unpacks it."""
    is_packed = PurePosixPath(name).suffix.lower() == GZIP
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_packed else file


def check_suffix(name: str) -> str:
    """Return the suffix of the format of *name*. Raises InvalidRequest for another one."""
    path = PurePosixPath(name)
    suffix = (path.with_suffix("") if path.suffix.lower() == GZIP else path).suffix.lower()
    if suffix not in READERS:
        raise InvalidRequest(f"{name} is none of {', '.join(READERS)}, also with .gz", field="file")
    return suffix


def title_of(name: str) -> str:
    """Return the name of a file without its folder and its suffixes."""
    path = PurePosixPath(name)
    return (path.with_suffix("") if path.suffix.lower() == GZIP else path).stem
