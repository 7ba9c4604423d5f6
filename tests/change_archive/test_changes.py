"""What of a stream record lands in a file, and under which name."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from fanin.change_archive import KINDS, WITHHELD, Archive
from fanin.change_archive.changes import change_of, file_of, sequence_of, table_of
from fanin.errors import InvalidRequest
from tests.change_archive.streams import STREAM, record

PAGE = {"pk": {"S": "t#b#0#7"}, "n": {"N": "8"}, "ttl": {"N": "9"}, "d0": {"N": "63"}, "d1": {"N": "3"}}
ACKED = PAGE | {"n": {"N": "9"}, "d1": {"N": "7"}}
BATCH = {"pk": {"S": "t#b"}, "sk": {"S": "batch"}, "state": {"S": "OPEN"}, "salt": {"B": "c2VjcmV0"}}
TOKEN = {"pk": {"S": "t#b"}, "sk": {"S": "token"}, "taskToken": {"S": "t0ken"}}
JOB = {"pk": {"S": "J#t#q#0000"}, "sk": {"S": "k#a"}, "payload": {"S": "a"}, "rerun_payload": {"S": "b"}}


def images(change: Any) -> dict[str, Any]:
    return {name: change.record["dynamodb"].get(name) for name in ("OldImage", "NewImage")}


def lines(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(body).splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_salt_nor_a_payload_lands_in_a_file(kind):
    whole = TOKEN | BATCH | JOB
    _, body = file_of(kind, [change_of(record(whole | {"n": {"N": "1"}}, whole), kind)])
    (line,) = lines(body)

    assert WITHHELD & whole.keys() == WITHHELD
    assert not [name for name in WITHHELD if name in gzip.decompress(body).decode()]
    assert line["dynamodb"]["Keys"] == {"pk": JOB["pk"], "sk": JOB["sk"]}


def fullness(n: int, **digits: str) -> dict[str, Any]:
    return {"n": {"N": str(n)}, **{name: {"N": value} for name, value in digits.items()}}


FAILED = PAGE | {"x0": {"N": "1"}}
KEPT = {
    "another digit": (PAGE, ACKED, fullness(8, d1="3"), fullness(9, d1="7")),
    "a healed page": (FAILED, PAGE | {"x0": {"N": "0"}}, fullness(8, x0="1"), fullness(8, x0="0")),
    "a first image": (None, PAGE, None, PAGE),
    "a last image": (PAGE, None, PAGE, None),
}


@pytest.mark.parametrize(("old", "new", "kept_old", "kept_new"), KEPT.values(), ids=KEPT)
def test_of_a_page_what_both_images_hold_alike_is_left_out_but_for_its_fullness(old, new, kept_old, kept_new):
    assert images(change_of(record(new, old), "pages")) == {"OldImage": kept_old, "NewImage": kept_new}


@pytest.mark.parametrize("kind", ["batches", "tasks", "bundles", "jobs"])
def test_rows_of_other_tables_are_kept_as_they_were(kind):
    row = {"pk": {"S": "t#b"}, "state": {"S": "OPEN"}, "members": {"L": [{"S": "a"}]}}
    ended = row | {"state": {"S": "DONE"}}

    assert images(change_of(record(ended, row), kind)) == {"OldImage": row, "NewImage": ended}


def test_all_else_of_a_record_is_kept_as_it_came():
    came = record(ACKED, PAGE) | {"userIdentity": {"type": "Service"}}

    def without_images(whole: dict[str, Any]) -> dict[str, Any]:
        body = {name: value for name, value in whole["dynamodb"].items() if not name.endswith("Image")}
        return {**whole, "dynamodb": body}

    assert without_images(change_of(came, "pages").record) == without_images(came)


def test_the_name_says_table_day_hour_and_place_in_the_stream():
    changes = [change_of(record(ACKED, PAGE, number=number), "pages") for number in (5, 9)]
    name, body = file_of("pages", changes)

    assert name == (f"changes/table=pages/date=2026-09-21/hour=14/{5:021d}-{9:021d}-{5:032x}.jsonl.gz")
    assert [line["eventID"] for line in lines(body)] == [f"{5:032x}", f"{9:032x}"]


def test_the_same_changes_are_the_same_file_and_others_of_the_same_start_another():
    changes = [change_of(record(ACKED, PAGE, number=number), "pages") for number in (5, 6, 7)]

    assert file_of("pages", changes) == file_of("pages", list(changes))
    assert file_of("pages", changes)[0] != file_of("pages", changes[:2])[0]


def spoilt(**parts: Any) -> dict[str, Any]:
    whole = record(ACKED, PAGE)
    body = {**whole["dynamodb"], **parts.pop("dynamodb", {})}
    return {**whole, "dynamodb": body, **parts}


MALFORMED = {
    "no id": spoilt(eventID=None),
    "an id that is a path": spoilt(eventID="../x"),
    "no name": spoilt(eventName="UPSERT"),
    "no change": {**record(PAGE), "dynamodb": None},
    "no keys": spoilt(dynamodb={"Keys": None}),
    "an image that is none": spoilt(dynamodb={"NewImage": "?"}),
    "no place": spoilt(dynamodb={"SequenceNumber": "1/2"}),
    "a number as its place": spoilt(dynamodb={"SequenceNumber": 12}),
    "no time": spoilt(dynamodb={"ApproximateCreationDateTime": None}),
    "a time in milliseconds": spoilt(dynamodb={"ApproximateCreationDateTime": 1.79e12}),
    "a time that is true": spoilt(dynamodb={"ApproximateCreationDateTime": True}),
}


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_stream_record_is_refused(malformed):
    with pytest.raises(InvalidRequest):
        change_of(malformed, "pages")


@pytest.mark.parametrize("arn", [None, "", "arn:aws:sqs:eu-west-1:123456789012:q", STREAM.format("a/b")])
def test_a_record_of_no_table_is_refused(arn):
    with pytest.raises(InvalidRequest, match="stream"):
        table_of({**record(PAGE), "eventSourceARN": arn})


class Shelf(dict[str, bytes]):
    """Files in this process."""

    def put(self, name: str, body: bytes) -> None:
        self[name] = body


def kept(records: list[dict[str, Any]]) -> tuple[str | None, list[str]]:
    """What the archive answers, and the ids of the records that it kept."""
    shelf = Shelf()
    answer = Archive(shelf, {"Pages": "pages"}).keep(records)
    return answer, [line["eventID"] for body in shelf.values() for line in lines(body)]


def test_a_delivery_is_one_file_and_an_empty_one_is_none():
    records = [record(ACKED, PAGE, number=number) for number in range(1, 4)]

    assert kept(records) == (None, [each["eventID"] for each in records])
    assert kept([]) == (None, [])


@pytest.mark.parametrize("at", [0, 2])
def test_of_a_delivery_those_before_a_malformed_record_are_kept_and_it_is_named(at):
    records = [record(ACKED, PAGE, number=number) for number in range(1, 5)]
    records[at]["eventName"] = "?"

    assert kept(records) == (sequence_of(records[at]), [each["eventID"] for each in records[:at]])


def test_a_record_whose_place_cannot_be_read_fails_its_delivery():
    with pytest.raises(InvalidRequest, match="SequenceNumber"):
        kept([spoilt(dynamodb={"SequenceNumber": None})])


def test_the_changes_of_a_strange_table_fail_their_delivery():
    with pytest.raises(InvalidRequest, match="Strangers"):
        kept([record(PAGE, table="Strangers")])
