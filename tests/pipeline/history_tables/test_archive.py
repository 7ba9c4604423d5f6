"""The archive's files: which are read, and what a line is."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipeline.history_tables.change_frames.archive import Archive, Days, NotAnArchive, located
from pipeline.table_changes.records import MalformedLine, change_of
from tests.change_archive.streams import AT, record

ROW = {"pk": {"S": "t#b#0#0"}, "n": {"N": "1"}, "d0": {"N": "1"}}


def put(root: Path, name: str, body: bytes = b"{}\n") -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    return str(path)


@pytest.fixture
def archive(tmp_path):
    root = tmp_path / "changes"
    for day, hour in (("2026-01-30", "23"), ("2026-01-31", "00"), ("2026-02-01", "05")):
        put(root, f"table=pages/date={day}/hour={hour}/1-2-ab.jsonl.gz")
    put(root, "table=batches/date=2026-02-01/hour=05/1-2-ab.jsonl.gz")
    return Archive(str(root))


def days_of(files):
    return sorted(file.path.split("/date=")[1][:10] for file in files)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (Days(since=date(2026, 1, 31)), ["2026-01-31", "2026-02-01"]),
        (Days(until=date(2026, 1, 30)), ["2026-01-30"]),
        (Days(date(2026, 1, 31), date(2026, 1, 31)), ["2026-01-31"]),
        (Days(since=date(2027, 1, 1)), []),
    ],
)
def test_only_the_days_that_are_asked_for_are_read(archive, days, expected):
    assert days_of(archive.files("pages", days)) == expected


def test_files_of_another_writer_are_read_whatever_their_names_and_empty_ones_are_skipped(tmp_path):
    put(tmp_path, "table=pages/2026/01/31/00/stream-1")
    put(tmp_path, "table=pages/date=2027-01-31/hour=00/empty.jsonl", b"")

    assert len(Archive(str(tmp_path)).files("pages", Days(since=date(2027, 1, 1)))) == 1


@pytest.mark.parametrize("there", [None, "other/file.txt", "file.txt"])
def test_a_folder_without_tables_is_named_with_what_would_be_right(tmp_path, there):
    root = tmp_path / "archive"
    if there:
        put(root, there)

    with pytest.raises(NotAnArchive, match="archive holds no folder table=pages"):
        Archive(str(root)).check()


def test_a_uri_leads_to_its_own_file_system(tmp_path):
    assert located(f"file://{tmp_path}/")[1] == str(tmp_path)
    assert located("s3://bucket/changes?region=eu-west-1")[1] == "bucket/changes"


def line(**body):
    whole = record(ROW)
    return json.dumps({**whole, "dynamodb": {**whole["dynamodb"], **body}}).encode()


def test_a_line_as_lambda_gets_it():
    change = change_of(line())

    assert (change.id, change.new, change.old) == (f"{1:032x}", ROW, {})
    assert change.at == datetime.fromtimestamp(AT + 1, UTC)
    assert change.place == f"{1:040d}"


@pytest.mark.parametrize(("at", "factor"), [(AT, 1), (AT * 1000 + 250, 1e3), (AT * 1_000_000 + 250_000, 1e6)])
def test_a_time_is_in_seconds_or_as_a_kinesis_stream_has_it(at, factor):
    whole = json.loads(line(ApproximateCreationDateTime=at))
    del whole["dynamodb"]["SequenceNumber"]

    change = change_of(json.dumps(whole).encode())

    assert change.at == datetime.fromtimestamp(at / factor, UTC)
    assert change.place == "0" * 40


def test_places_of_different_length_sort_as_numbers():
    shorter, longer = (change_of(line(SequenceNumber=number)).place for number in ("9" * 21, "1" + "0" * 21))

    assert shorter < longer


MALFORMED = [b"", b"{", b"[]", b"7", b"null", b"{}", b'{"eventID":"a","dynamodb":null}', b"\xff"]


@pytest.mark.parametrize("text", [*MALFORMED, line(ApproximateCreationDateTime="x")])
def test_what_is_no_change_is_refused(text):
    with pytest.raises(MalformedLine):
        change_of(text)
