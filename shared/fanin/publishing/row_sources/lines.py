"""Reads JSON lines, and CSV with a header line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from fanin.errors import InvalidRequest
from fanin.publishing.packing import BATCH_BYTES
from fanin.publishing.row_sources.source import NumberedRow, unreadable

csv.field_size_limit(max(csv.field_size_limit(), 2 * BATCH_BYTES))  # a message takes longer values than csv

WRONG_ENCODING = "it is not UTF-8"
_REFUSED = ("\ufffe", "\uffff")
"""Characters of JSON that SQS refuses in a message."""
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` decodes a byte to that is not UTF-8."""


def json_lines(name: str, file: Iterable[bytes], first: int = 1) -> Iterator[NumberedRow]:
    """Yield each line that is not blank; *first*: the number of the first one."""
    for line, raw in enumerate(file, first):
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8").strip(" \t\r\n")
            if text:
                json.loads(text, parse_constant=_no_constant)
                yield line, sendable(text)
        except (ValueError, RecursionError) as error:
            raise unreadable(name, line, f"it is not JSON in UTF-8 ({_fault(error)})") from error


def json_file(name: str, file: BinaryIO) -> Iterator[NumberedRow]:
    """Yield the JSON lines of a ``.json`` file, which often has one array in place of lines."""
    for line, text in json_lines(name, file):
        if text.startswith("["):
            raise unreadable(name, line, "it is a JSON array, and a line is one row: jq -c '.[]' divides it")
        yield line, text


def csv_rows(name: str, file: BinaryIO) -> Iterator[NumberedRow]:
    """Yield an object of texts for each row, with the names of the header line."""
    reader = csv.reader(_utf8_lines(name, file), strict=True)
    before = 0  # the last line of the row before, as a quote that is open takes all lines that follow
    try:
        names = next(reader, None)
        if names is None:
            raise InvalidRequest(f"{name} is empty: CSV begins with a header line", field="file")
        _check_names(name, names)
        before = reader.line_num
        for values in reader:
            if values:
                yield reader.line_num, _object(name, reader.line_num, names, values)
            before = reader.line_num
    except csv.Error as error:
        raise unreadable(name, before + 1, f"it is not CSV ({error})") from error


def csv_lines(name: str, file: Iterable[bytes], header: bytes, first: int = 1) -> Iterator[NumberedRow]:
    """Yield the rows of CSV as ``csv_rows`` does, each being one line: a line break in a value is refused.

    *header*: the first line of the whole file. *first*: the number of the first line of *file*.
    """
    names = _values(name, 1, header)
    _check_names(name, names)
    for line, raw in enumerate(file, first):
        values = _values(name, line, raw)
        if values and line > 1:
            yield line, _object(name, line, names, values)


def csv_header(name: str, file: BinaryIO) -> list[str]:
    """Return the names in the header line. Raises UnreadableRow, csv.Error."""
    return next(csv.reader(_utf8_lines(name, file), strict=True), [])


def csv_values(name: str, file: BinaryIO) -> Iterator[list[str]]:
    """Yield the values of each row of CSV without a header line. Raises UnreadableRow."""
    reader = csv.reader(_utf8_lines(name, file), strict=True)
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise unreadable(name, reader.line_num, f"it is not CSV ({error})") from error


def sendable(text: str) -> str:
    """Return *text* without the characters that SQS refuses, which JSON can escape."""
    for character in _REFUSED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _fault(error: Exception) -> str:
    """Return what is wrong with the text of a line, without a second line number."""
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _utf8_lines(name: str, file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a file, whose decoder reads ahead; refuse the first one that is not UTF-8."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    for number, line in enumerate(text, 1):
        if _NOT_UTF_8.search(line):
            raise unreadable(name, number, WRONG_ENCODING)
        yield line


def _values(name: str, line: int, raw: bytes) -> list[str]:
    try:
        return next(csv.reader([raw.decode("utf-8-sig" if line == 1 else "utf-8")], strict=True), [])
    except UnicodeDecodeError as error:
        raise unreadable(name, line, WRONG_ENCODING) from error
    except csv.Error as error:
        why = f"it is no row of CSV in one line ({error}); values with line breaks need fanin publish"
        raise unreadable(name, line, why) from error


def _check_names(name: str, names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise unreadable(name, 1, "its header has a name twice")


def _object(name: str, line: int, names: list[str], values: list[str]) -> str:
    if len(values) != len(names):
        raise unreadable(name, line, f"it has {len(values)} values, and the header {len(names)} names")
    return sendable(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
