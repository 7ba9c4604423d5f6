"""Each format of log says the same; what cannot be read is rejected line by line, or named."""

from __future__ import annotations

import bz2
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.bulk_ack import logs
from pipeline.bulk_ack.logs import UnreadableLog
from tests.pipeline.logs import columns, write_log

ROWS = ["a:b:1", ("c", "failure", "böse"), (None, None), ("d", "success"), "a:b:1"]


def read(path) -> tuple[dict[str, list[str | None]], list[str]]:
    found = list(logs.read(str(path)))
    values = [tuple(each.items.texts(np.arange(len(each.items)))) for each in found]
    rows = {"item_id": [text for texts in values for text in texts]}
    for name in ("outcome", "reason"):
        rows[name] = [value for portion in found for value in getattr(portion, name).to_pylist()]
    return rows, [line for portion in found for line in portion.lines]


def written(path, text: str | bytes):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.json", "log.ndjson", "log.csv", "log.CSV"])
def test_every_format_says_the_same(tmp_path, name):
    assert read(write_log(tmp_path / name, ROWS)) == (columns(ROWS), [])


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
def test_a_compressed_log_says_the_same(tmp_path, name, suffix, pack):
    unpacked = write_log(tmp_path / name, ROWS).read_bytes()

    assert read(written(tmp_path / (name + suffix), pack(unpacked))) == (columns(ROWS), [])


def test_a_log_is_found_by_the_name_that_spark_gives_it(tmp_path):
    path = write_log(tmp_path / "day=1" / "a b%20c.jsonl", ROWS)

    assert read(f"file:{path}") == read(f"file://{path}") == read(path)


def test_items_may_be_named_as_in_the_messages_of_the_queue(tmp_path):
    lines = ['{"itemId":"a","outcome":"failure"}', '{"item_id":"b","other":[1,{"x":2}]}']

    assert read(written(tmp_path / "log.jsonl", "\n".join(lines)))[0] == columns([("a", "failure"), "b"])
    assert read(written(tmp_path / "log.csv", "\ufeffitemId,n\na,1\nb,x\n"))[0] == columns(["a", "b"])


NO_ROWS = ['{"item_id":5}', "nonsense", '["a"]', '"a"', '{"item_id":"a"', '{"item_id":"a","outcome":true}']


@pytest.mark.parametrize("line", [*NO_ROWS, "[" * 99_999])
def test_a_line_that_is_no_row_is_rejected_and_its_neighbours_are_read(tmp_path, line):
    path = written(tmp_path / "log.jsonl", f'{{"item_id":"b"}}\n{line}\n\n{{"item_id":"c"}}')

    assert read(path) == (columns(["b", "c"]), [line])


def test_a_line_that_has_more_or_fewer_columns_is_rejected(tmp_path):
    path = written(tmp_path / "log.csv", "item_id,outcome\na,success\nb\nc,failure,x\nd,\n")

    assert read(path) == (columns([("a", "success"), "d"]), ["b", "c,failure,x"])


@pytest.mark.parametrize(("name", "reason"), [("log.jsonl", None), ("log.csv", "why\nitem 0,success,\nso")])
def test_lines_and_reasons_of_lines_may_lie_across_the_blocks_that_are_read(
    tmp_path, monkeypatch, name, reason
):
    monkeypatch.setattr(logs, "BLOCK_BYTES", 64)
    rows = [(f"item {number}", "failure", reason) for number in range(500)]

    assert read(write_log(tmp_path / name, rows)) == (columns(rows), [])


def test_a_reason_that_was_cut_within_a_character_costs_no_ack(tmp_path):
    path = written(tmp_path / "log.jsonl", '{"item_id":"a","reason":"x\\ud83d"}\n{"item_id":"b"}\n')

    assert read(path) == (columns([("a", None, "x?"), "b"]), [])


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "BLOCK_BYTES", 64)

    with pytest.raises(UnreadableLog, match="a line is longer than 64 bytes"):
        read(written(tmp_path / "log.jsonl", json.dumps({"item_id": "x" * 500})))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("log.jsonl.gz", gzip.compress(b'{"item_id":"a"}\n' * 9999)[:-4], "Truncated"),
        ("log.jsonl.gz", b"no gzip", "header"),
        ("log.parquet", b"PAR1", "Parquet"),
        ("log.csv", b"id,outcome\na,success\n", "no column item_id"),
        ("log.csv", b"item_id\n\xff\xfe\n", "UTF8"),
        ("log.csv", b"item_id,outcome,outcome\na,success,failure\n", "column outcome twice"),
        ("log.txt", b"", "ends in one of .parquet"),
        ("log.jsonl.zip", b"PK", "ends in one of .parquet"),
        ("log.jsonl.GZ", b"", r"compressed file adds \.bz2, \.gz"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_is_wrong(tmp_path, name, text, why):
    path = written(tmp_path / name, text)

    with pytest.raises(UnreadableLog, match=f"(?s){name}.*{why}"):
        read(path)


def test_a_parquet_file_has_its_ids_as_text_once_whatever_else_its_name_ends_in(tmp_path):
    write_log(tmp_path / "x.parquet", ROWS).rename(tmp_path / "x.csv.parquet")
    assert read(tmp_path / "x.csv.parquet") == (columns(ROWS), [])

    ids, path = pa.array(["a", "b", "a"]), tmp_path / "x.parquet"
    pq.write_table(pa.table({"item_id": ids.dictionary_encode()}), path)
    assert read(path)[0] == columns(["a", "b", "a"])
    pq.write_table(pa.table([ids, ids], names=["item_id", "item_id"]), path)
    with pytest.raises(UnreadableLog, match=r"x\.parquet cannot be read: .* item_id twice"):
        read(path)
    pq.write_table(pa.table({"item_id": [1, 2]}), path)
    with pytest.raises(UnreadableLog, match="its column item_id is int64"):
        read(path)


def test_a_column_with_fewer_rows_than_the_file_says_is_refused(tmp_path):
    path, rows = tmp_path / "log.parquet", 77
    pq.write_table(pa.table({name: ["success"] * rows for name in ("item_id", "outcome")}), path)
    count = b"\x16\x9a\x01"  # an integer of 64 bits, twice 77
    before, *counts = path.read_bytes().split(count)
    assert len(counts) == 4, "rows of the file, of both columns, and of the row group"
    counts[1] = counts[1] + b"\x16\x80\x00" + counts.pop(2)
    path.write_bytes(count.join([before, *counts]))

    with pytest.raises(UnreadableLog, match=r"not as many rows|length"):
        read(path)
