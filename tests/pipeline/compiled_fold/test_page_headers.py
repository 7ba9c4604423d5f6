"""A page is read if its bytes are what its header says; otherwise neither it nor those after it are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.compiled_fold import pages
from pipeline.compiled_fold.pages import MOST_ROWS, ColumnChunk, _varint

TEXTS = ["a", "bb", "a"]
ROWS = len(TEXTS)
DATA, DICTIONARY, DATA_2 = 0, 2, 3
OF_KIND = {DATA: 5, DICTIONARY: 7, DATA_2: 8}
"""Kinds of pages, and the number of the struct that a header of each has."""
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
ONES, TWO_AND_NULL = _varint(ROWS << 1) + b"\1", b"\3\5"
"""Levels: one run, and packed bits."""

Fields = Mapping[int, int | bool | Mapping[int, Any] | None]


def struct(fields: Fields) -> bytes:
    """Integers, flags and structs by their numbers, in Thrift's compact protocol; None is absent."""
    found, before = bytearray(), 0
    for number, value in fields.items():
        if value is None:
            continue
        kind = 12 if isinstance(value, Mapping) else 5
        if isinstance(value, bool):
            kind = 1 if value else 2
        found.append((number - before) << 4 | kind)
        before = number
        if kind == 12:
            found += struct(value)
        elif kind == 5:
            found += _varint(value << 1 if value >= 0 else ~value << 1 | 1)
    return bytes(found) + b"\0"


def page(kind: int, body: bytes, size: int, of_kind: Fields, changed: Fields) -> bytes:
    """A page with this *body*; *changed*: fields of its header, and by numbers from 100 on, of its kind."""
    header = {1: kind, 2: size, 3: len(body), OF_KIND[kind]: dict(of_kind)}
    for number, value in changed.items():
        fields = header if number < 100 else header[OF_KIND[kind]]
        fields[number % 100] = value
    return struct(header) + body


def plain(texts: list[str]) -> bytes:
    return b"".join(len(text).to_bytes(4, "little") + text.encode() for text in texts)


def packed(body: bytes, codec: str = "snappy") -> bytes:
    return pa.Codec(codec).compress(body, asbytes=True)


def data(
    changed: Fields,
    levels: bytes | None = ONES,
    values: bytes = plain(TEXTS),
    encoding: int = PLAIN,
    codec: str = "snappy",
) -> bytes:
    """A data page of version 1."""
    body = values if levels is None else len(levels).to_bytes(4, "little") + levels + values
    return page(DATA, packed(body, codec), len(body), {1: ROWS, 2: encoding, 3: RLE, 4: RLE}, changed)


def data_2(changed: Fields, levels: bytes = ONES, values: bytes = plain(TEXTS), nulls: int = 0) -> bytes:
    """A data page of version 2; the field 107 is whether it is compressed."""
    is_packed = changed.get(107, True) is not False
    of_kind = {1: ROWS, 2: nulls, 3: ROWS, 4: PLAIN, 5: len(levels), 6: 0, 7: None}
    body = levels + (packed(values) if is_packed else values)
    return page(DATA_2, body, len(levels + values), of_kind, changed)


def dictionary(changed: Fields) -> bytes:
    body = plain(["a", "bb"])
    return page(DICTIONARY, packed(body), len(body), {1: 2, 2: PLAIN}, changed)


def of_dictionary(numbers: bytes = b"\1\3\2") -> bytes:
    """A data page with numbers of entries: their bits, and one packed group, 0, 1, 0."""
    return data({}, values=numbers, encoding=RLE_DICTIONARY)


def read(kernel: Any, raw: bytes, rows: int = ROWS, is_nullable: bool = True) -> list[list[str | None]]:
    found = ColumnChunk(kernel, pa.py_buffer(raw), is_nullable).pages(rows)
    return [each.texts(np.arange(len(each))).to_pylist() for each in found]


@pytest.mark.parametrize(
    "raw",
    [
        data({}),
        data_2({}),
        data_2({107: False}),
        data_2({107: True}),
        dictionary({}) + of_dictionary(),
        dictionary({102: 2}) + of_dictionary(),
        dictionary({}) + of_dictionary(b"\1\2\0\2\1\2\0"),
        data({}, codec="gzip"),
        data({}, codec="zstd"),
    ],
)
def test_a_page_that_is_as_its_header_says_is_read(kernel, raw):
    assert read(kernel, raw) == [TEXTS]
    assert read(kernel, raw + data({}), rows=2 * ROWS) == [TEXTS, TEXTS]


def test_nulls_and_columns_without_them_are_read(kernel):
    two = plain(TEXTS[:2])
    expected = [["a", None, "bb"]]
    assert read(kernel, data({}, TWO_AND_NULL, two)) == expected
    assert read(kernel, data_2({}, TWO_AND_NULL, two, nulls=1)) == expected
    assert read(kernel, data({}, None), is_nullable=False) == [TEXTS]
    assert read(kernel, data_2({}, b""), is_nullable=False) == [TEXTS]


WRONG = {
    "page sizes": [
        data({3: -1}),
        data({3: 9999}),
        data({2: -1}),
        data({2: 99}),
        data({2: 99}, codec="gzip"),
        data_2({2: 1}),
    ],
    "kind": [data({1: 1}), data({1: None}), data({1: DATA_2})],
    "rows": [data({101: 2}), data({101: 4}), data({101: -1}), data({101: MOST_ROWS + 1})],
    "encoding": [data({102: RLE_DICTIONARY}), data({102: 5}), data({102: None}), data_2({104: 6})],
    "levels' encoding": [data({103: None}), data({104: None}), data({103: 4})],
    "levels": [data({}, levels) for levels in (b"\6\2", b"\6", b"\2\2\2\1\2\0", TWO_AND_NULL)],
    "levels that are not there": [data({}, None), data({}, None, b"\0")],
    "counts": [data_2({101: 2}), data_2({103: 2}), data_2({102: 1}), data_2({102: None})],
    "levels' sizes": [data_2({105: -1}), data_2({105: 99}), data_2({106: 1}), data_2({106: None})],
    "uncompressed": [data_2({107: False, 2: 99}), data_2({107: False, 2: 1})],
    "dictionary": [
        of_dictionary(),
        dictionary({102: RLE}) + of_dictionary(),
        dictionary({101: 1}) + of_dictionary(),
        dictionary({}) + of_dictionary(b""),
        dictionary({}) + of_dictionary(b"\x19\3" + bytes(25)),
        dictionary({}) + of_dictionary(b"\2\3\2\0"),
        dictionary({}) + of_dictionary(b"\1\1\3\2"),
        dictionary({}) + of_dictionary(b"\1\0\0\3\2"),
        dictionary({}) + dictionary({}) + of_dictionary(),
    ],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_of_a_page_that_is_not_as_its_header_says_nothing_is_read(kernel, wrong):
    for number, raw in enumerate(WRONG[wrong]):
        assert read(kernel, raw + data({}), rows=2 * ROWS) == [], number


def test_levels_of_a_column_without_nulls_and_rows_beyond_the_group_are_not_read(kernel):
    assert read(kernel, data_2({}), is_nullable=False) == []
    assert read(kernel, data({}) + data({}), rows=ROWS + 1) == [TEXTS]


@pytest.mark.parametrize(("limit", "value"), [("MOST_BYTES", 3), ("MOST_ROWS", 2)])
def test_a_page_beyond_a_limit_is_not_read(kernel, monkeypatch, limit, value):
    raw = dictionary({}) + of_dictionary()
    assert read(kernel, raw) == [TEXTS]

    monkeypatch.setattr(pages, limit, value)
    assert read(kernel, raw) == []


def test_nothing_is_read_of_a_header_that_does_not_end_or_has_no_size(kernel):
    of_kind = {1: 0, 2: 0, 3: 0, 4: PLAIN, 5: 0, 6: 0, 7: False}
    raw = pa.py_buffer(page(DATA_2, b"", 0, of_kind, {})[:-1])

    assert next(ColumnChunk(kernel, raw, False).pages(ROWS), None) is None
    assert read(kernel, data_2({3: None, 107: False}) + b"\0") == []


@pytest.mark.parametrize("codec", ["snappy", "gzip", "zstd"])
def test_fewer_bytes_than_a_header_says_are_not_read(codec):
    with pytest.raises((pages.NotRead, OSError, pa.ArrowException)):
        pages._decompressed(pa.py_buffer(packed(b"text", codec)), 5)
