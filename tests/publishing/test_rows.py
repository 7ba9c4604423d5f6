"""The rows of a file: what is read of it, and what is refused before anything is sent."""

from __future__ import annotations

import json

import pytest

from fanin.publishing.packing import BATCH_BYTES
from fanin.publishing.rows import UnreadableRow, rows, survey


def file(tmp_path, content, name="rows.jsonl"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_json_lines_are_sent_as_they_are_without_blank_lines_and_the_mark_of_the_order(tmp_path):
    path = file(tmp_path, '\ufeff{"a": 1.50}\r\n\n  [1]  \n"käy \u2028"\nnull')

    assert list(rows(path)) == ['{"a": 1.50}', "[1]", '"käy \u2028"', "null"]


def test_a_row_of_csv_is_an_object_of_texts(tmp_path):
    path = file(tmp_path, 'id,text\r\n007,"a, ""b""\nc"\r\n\r\n8,\x07\r\n', "rows.csv")

    assert [json.loads(row) for row in rows(path)] == [
        {"id": "007", "text": 'a, "b"\nc'},
        {"id": "8", "text": "\x07"},
    ]


def test_what_sqs_refuses_is_escaped(tmp_path):
    (row,) = rows(file(tmp_path, '{"a": "\ufffe\uffff"}'))

    assert row == '{"a": "\\ufffe\\uffff"}'
    assert json.loads(row) == {"a": "\ufffe\uffff"}


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("rows.jsonl", '{"a": 1}\n{"a": }\n', 2),
        ("rows.jsonl", '{"a": NaN}\n', 1),
        ("rows.jsonl", b'1\n2\n"\xff"\n', 3),
        ("rows.jsonl", "[" * 100_000, 1),
        ("rows.jsonl", '"' + "x" * BATCH_BYTES + '"', 1),
        ("rows.json", '[{"a": 1}, {"a": 2}]', 1),
        ("rows.csv", "a,a\n1,2\n", 1),
        ("rows.csv", "a,b\n1,2\n3\n", 3),
        ("rows.csv", 'a,b\n1,"2\n', 2),
    ],
)
def test_a_row_that_cannot_be_sent_is_refused_with_its_line(tmp_path, name, content, line):
    with pytest.raises(UnreadableRow, match=rf"{name}, line {line}: .*; nothing was sent"):
        survey(file(tmp_path, content, name))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("line", [1, 2, 700, 5000])
def test_a_byte_that_is_not_utf_8_is_refused_with_its_line(tmp_path, line, end):
    """A file is decoded in parts of some kilobytes."""
    lines = [b"id,name"] + [b"%d,n" % number for number in range(5000)]
    lines[line - 1] += b"\xff"

    with pytest.raises(UnreadableRow, match=rf"rows.csv, line {line}: it is not UTF-8; nothing was sent"):
        survey(file(tmp_path, end.join(lines), "rows.csv"))


def test_a_survey_is_of_the_rows_and_not_of_how_they_are_laid_out(tmp_path):
    first = survey(file(tmp_path, "1\n2\n"))

    assert (first.rows, first.size) == (2, 2)
    assert first == survey(file(tmp_path, "\n1\r\n\n2"))
    assert first.digest != survey(file(tmp_path, "12\n")).digest
    assert first.digest != survey(file(tmp_path, "2\n1\n")).digest
    assert survey(file(tmp_path, "")).rows == 0
