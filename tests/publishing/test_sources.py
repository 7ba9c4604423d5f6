"""Rows of S3: the objects of each format, those under a prefix, and those that an inventory lists."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest
from moto import mock_aws

from fanin import Fanin, State
from fanin.errors import InvalidRequest
from fanin.publishing import rows as reading
from fanin.publishing.publish import PublishRequest
from fanin.publishing.row_sources import objects
from fanin.publishing.row_sources.naming import source_of
from fanin.publishing.row_sources.source import SourceChanged, UnreadableRow
from fanin.publishing.rows import rows, survey
from tests.contract import moto_clients
from tests.publishing.test_publish import URL, Queue, new_transport, run

RANGE = 16 * 1024
MANY = 20_000
LINES = "".join(f'{{"n": {n}}}\n' for n in range(25)).encode()
INVENTORY = {
    "sourceBucket": "pictures",
    "destinationBucket": "arn:aws:s3:::lake",
    "fileFormat": "CSV",
    "fileSchema": "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, ETag",
    "files": [{"key": "inventory/data/1.csv.gz"}],
}


class S3:
    """A bucket ``lake`` of moto; *broken*: how many bodies break off. Keeps what was read."""

    def __init__(self):
        self.client, self.broken, self.ranges = moto_clients.client("s3"), 0, []
        self.client.create_bucket(Bucket="lake")

    def __getattr__(self, name):
        return getattr(self.client, name)

    def get_object(self, **wanted):
        answer = self.client.get_object(**wanted)
        self.ranges.append((wanted["Range"], wanted["IfMatch"], answer["ContentLength"]))
        if self.broken:
            self.broken -= 1
            answer["Body"]._raw_stream.read(10)
        return answer

    def put(self, key, body):
        self.client.put_object(Bucket="lake", Key=key, Body=body)

    def source(self, key):
        return source_of(f"s3://lake/{key}", lambda: self)


@pytest.fixture
def s3(monkeypatch):
    monkeypatch.setattr(objects, "RANGE_BYTES", RANGE)
    monkeypatch.setattr(objects, "waits", lambda _: iter([0.0] * 3))
    monkeypatch.setattr(reading, "PART_ROWS", 10)
    with mock_aws():
        yield S3()


def parquet(**columns):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file, row_group_size=MANY // 2)
    return file.getvalue()


NUMBERS = "".join(f"{n}\n" for n in range(MANY)).encode()
FORMATS = [
    ("rows.jsonl", NUMBERS),
    ("a/rows.jsonl.gz", gzip.compress(NUMBERS)),
    ("rows.parquet", parquet(n=list(range(MANY)))),
    ("rows.csv", b"n\n" + NUMBERS),
]


@pytest.mark.parametrize(("key", "body"), FORMATS)
def test_an_object_is_read_in_ranges_of_the_object_that_was_found(s3, key, body):
    s3.put(key, body)
    source = s3.source(key)

    found = [json.loads(row) for row in rows(source)]
    assert [int(row["n"]) if isinstance(row, dict) else row for row in found] == list(range(MANY))
    assert source.title == "rows"
    assert {etag for _, etag, _ in s3.ranges} == {s3.head_object(Bucket="lake", Key=key)["ETag"]}
    assert max(size for *_, size in s3.ranges) == RANGE
    if not key.endswith(".parquet"):
        assert len(s3.ranges) == -(len(body) // -RANGE)


def test_values_of_parquet_that_json_has_not_are_texts_and_nan_is_refused_with_its_row(s3):
    at = datetime(2026, 3, 2, 1, tzinfo=UTC)
    s3.put("a.parquet", parquet(at=[at], price=[Decimal("1.50")], raw=[b"\x00"], tags=[["x"]]))
    s3.put("b.parquet", parquet(n=[1.0, float("nan")]))

    (row,) = rows(s3.source("a.parquet"))
    assert json.loads(row) == {"at": at.isoformat(), "price": "1.50", "raw": "AA==", "tags": ["x"]}
    with pytest.raises(UnreadableRow, match=r"b.parquet, line 2: "):
        survey(s3.source("b.parquet"))


def test_a_range_that_breaks_off_is_read_again_and_at_last_refused(s3):
    s3.put("rows.jsonl", LINES)
    s3.broken = 2
    assert survey(s3.source("rows.jsonl")).rows == 25
    s3.broken = 100
    with pytest.raises(Exception, match=r"s3://lake/rows.jsonl cannot be read"):
        survey(s3.source("rows.jsonl"))


def test_objects_under_a_prefix_are_rows_in_their_order_without_folders(s3):
    for key in ("in/b.png", "in/", "in/a é.png", "other/c.png"):
        s3.put(key, b"" if key.endswith("/") else b"123")
    source = s3.source("in/")
    found = [json.loads(row) for row in rows(source)]

    assert [(row["bucket"], row["key"], row["size"]) for row in found] == [
        ("lake", "in/a é.png", 3),
        ("lake", "in/b.png", 3),
    ]
    assert (source.title, source_of("s3://lake/", lambda: s3).title) == ("in", "lake")


@pytest.mark.parametrize("kind", ["CSV", "Parquet"])
def test_objects_of_an_inventory_are_rows_without_those_that_are_deleted(s3, kind):
    if kind == "CSV":
        listed = '"pictures","a+b%C3%A9.png","v1","true","false","3","e1"\npictures,c.png,v2,true,true,,\n'
        s3.put("inventory/data/1.csv.gz", gzip.compress(listed.encode()))
    else:
        columns = {"bucket": ["pictures"] * 2, "key": ["a bé.png", "c.png"], "version_id": ["v1", "v2"]}
        more = {"is_delete_marker": [False, True], "size": [3, None], "e_tag": ["e1", None]}
        s3.put("inventory/data/1.csv.gz", parquet(**columns, **more))
    s3.put("inventory/manifest.json", json.dumps({**INVENTORY, "fileFormat": kind}, indent=2).encode())
    source = s3.source("inventory/manifest.json")
    (row,) = map(json.loads, rows(source))

    assert row == {"bucket": "pictures", "key": "a bé.png", "versionId": "v1", "size": 3, "etag": "e1"}
    assert source.title == "pictures"


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("s3://lake", None, "is not s3://BUCKET/KEY, nor s3://BUCKET/PREFIX/"),
        ("s3://lake/none.jsonl", None, "there is no object s3://lake/none.jsonl"),
        ("s3://lake/rows.orc", b"", "s3://lake/rows.orc is none of"),
        ("s3://lake/x/rows.jsonl.gz", b"1\n", "s3://lake/x/rows.jsonl.gz is not gzip"),
        ("s3://lake/rows.parquet", b"PAR1", "s3://lake/rows.parquet is not Parquet"),
        ("s3://lake/manifest.json", b"{}", "s3://lake/manifest.json is no manifest of an S3 inventory"),
        ("s3://lake/rows.jsonl", b"{\n", "s3://lake/rows.jsonl, line 1: it is not JSON"),
    ],
)
def test_what_is_no_source_is_refused(s3, name, body, why):
    if body is not None:
        s3.put(name.removeprefix("s3://lake/"), body)
    with pytest.raises(InvalidRequest, match=why):
        survey(source_of(name, lambda: s3))


def request_of(s3, key="rows.jsonl"):
    source = s3.source(key)
    return PublishRequest(source, URL, source.title, chunk=4)


def test_an_object_that_is_replaced_while_it_is_read_is_refused_until_its_batch_is_cancelled(s3, monkeypatch):
    monkeypatch.setattr(objects, "RANGE_BYTES", 64)
    s3.put("rows.jsonl", LINES)
    transport, queue = new_transport(), Queue()
    fanin = Fanin(transport)

    def replace(sent, rows):
        if sent == 10:
            s3.put("rows.jsonl", b"1\n" + LINES)

    with pytest.raises(SourceChanged, match=r"rows.jsonl was changed or deleted while it was read"):
        run(transport, queue, request_of(s3), report=replace)
    (begun,) = fanin.batches("rows")
    sent = len(queue.bodies)
    with pytest.raises(SourceChanged, match=rf"since batch {begun.batch_id}.*nothing was sent"):
        run(transport, queue, request_of(s3))
    assert (begun.state, len(queue.bodies)) == (State.OPEN, sent)
    fanin.cancel(begun.batch_id)
    assert run(transport, queue, request_of(s3)).status().total == 26


def test_a_run_that_was_stopped_goes_on_with_the_same_object_and_another_key_is_no_change(s3):
    s3.put("rows.jsonl", LINES)
    s3.put("b/rows.jsonl", b"1\n")
    transport, queue = new_transport(), Queue()

    def stop(sent, rows):
        if sent == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(transport, queue, request_of(s3), report=stop)
    (begun,) = Fanin(transport).batches("rows")
    assert run(transport, Queue(), request_of(s3, "b/rows.jsonl")).status().total == 1
    assert run(transport, queue, request_of(s3)).id == begun.batch_id
    assert sorted(row["n"] for row in queue.rows().values()) == list(range(25))
