"""The rows of a file, how they are packed into messages, and which dead-letter messages are left."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin import State, pacing
from fanin.client.items import Items
from fanin.dead_letter_queue_redrive.dead_letter_messages import (
    DeadLetterMessage,
    LeaveReason,
    Standing,
    reason_to_leave,
    windows,
)
from fanin.publishing.packing import BATCH_BYTES, MESSAGE_BYTES, Message, batches, carrying, chunked
from fanin.publishing.row_sources.files import FileSource
from fanin.publishing.row_sources.source import UnreadableRow
from fanin.publishing.rows import rows, survey
from fanin.publishing.sending import SendFailed, send
from fanin.tracker.reads.window import WINDOW_MAX


def file(tmp_path, content, name="rows.jsonl"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return FileSource(path)


def test_json_lines_are_sent_as_they_are_without_blank_lines_and_the_mark_of_the_order(tmp_path):
    path = file(tmp_path, '\ufeff{"a": 1.50}\r\n\n  [1]  \n"käy \u2028"\nnull')

    assert list(rows(path)) == ['{"a": 1.50}', "[1]", '"käy \u2028"', "null"]


def test_a_row_of_csv_is_an_object_of_texts(tmp_path):
    long = "x" * 200_000  # the csv module alone refuses it
    path = file(tmp_path, f'id,text\r\n007,"a, ""b""\nc"\r\n\r\n8,\x07\r\n9,{long}\r\n', "rows.csv")

    assert [json.loads(row) for row in rows(path)] == [
        {"id": "007", "text": 'a, "b"\nc'},
        {"id": "8", "text": "\x07"},
        {"id": "9", "text": long},
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
        ("rows.csv", 'a,b\n1,"2\n3,4\n', 2),
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


BATCH = "00000000-0000-4000-8000-000000000001"


class Row(NamedTuple):
    """A row of a dataset under the id of its item."""

    position: int
    record: str = "{}"
    copy: int = 1

    @property
    def item_id(self) -> str:
        return f"{BATCH}:{BATCH}:{self.position}"


def ranges(rows: list[Row], size: int) -> list[tuple[int, str]]:
    return [(m.copy, json.loads(m.body)["items"].rpartition(":")[2]) for m in chunked(rows, size)]


def test_the_body_carries_the_item_its_record_and_the_time():
    row = Row(3, '{"name":"x","size":1}')

    assert json.loads(Message.of(row, 1795249077306).body) == {
        "itemId": row.item_id,
        "record": {"name": "x", "size": 1},
        "sentAt": 1795249077306,
    }


def test_rows_are_cut_at_multiples_at_gaps_and_between_copies():
    rows = [Row(at) for at in (5, 6, 7, 8, 9, 12, 13, 16)] + [Row(at, copy=2) for at in (12, 13)]

    assert ranges(rows, 8) == [(1, "5-7"), (1, "8-9"), (1, "12-13"), (1, "16-16"), (2, "12-13")]
    assert [message.items for message in chunked(rows, 8)] == [3, 2, 2, 1, 2]
    assert list(chunked([], 8)) == []


def test_a_message_of_long_rows_is_sent_in_parts_and_one_long_row_by_itself():
    wide, longest = json.dumps("x" * (MESSAGE_BYTES // 4)), json.dumps("é" * MESSAGE_BYTES)
    rows = [*(Row(at, wide) for at in range(4)), Row(4, longest), Row(5)]
    sizes = [len(message.body.encode()) for message in chunked(rows, 8)]

    assert ranges(rows, 8) == [(1, "0-2"), (1, "3-3"), (1, "4-4"), (1, "5-5")]
    assert all(size <= MESSAGE_BYTES for size in (*sizes[:2], sizes[3]))


def messages(*bodies: str) -> list[Message]:
    return [Message(1, body, "batch") for body in bodies]


def test_a_request_has_ten_messages_in_order_and_the_bytes_that_sqs_takes():
    found = [[m.body for m in batch] for batch in batches(messages(*map(str, range(23))))]
    third = "é" * (BATCH_BYTES // 6)

    assert found == [[str(i) for i in range(10)], [str(i) for i in range(10, 20)], ["20", "21", "22"]]
    assert [len(batch) for batch in batches(messages(*[third] * 7))] == [3, 3, 1]
    assert list(batches([])) == []


class ScriptedClient:
    """Answers each SendMessageBatch with the next of the given lists of failed ids; then takes everything."""

    def __init__(self, *failures: list[str], code: str = "InternalError") -> None:
        self.failures, self.code = list(failures), code
        self.sent: list[list[str]] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict]) -> dict:  # noqa: N803 - the API's names
        self.sent.append([entry["MessageBody"] for entry in Entries])
        failed, is_fault = self.failures.pop(0) if self.failures else [], self.code != "InternalError"
        return {"Failed": [{"Id": each, "Code": self.code, "SenderFault": is_fault} for each in failed]}


def send_bodies(client, *bodies: str, sleep=lambda seconds: None) -> int:
    return send(client, "url", messages(*bodies), pacing.waits(random.Random(1)), sleep)


@pytest.mark.parametrize(
    ("code", "attempts"), [("InternalError", pacing.ATTEMPTS), ("InvalidMessageContents", 1)]
)
def test_sending_gives_up_after_a_bounded_number_of_attempts_and_on_a_fault_of_the_sender(code, attempts):
    client = ScriptedClient(*[["0"]] * 100, code=code)

    with pytest.raises(SendFailed):
        send_bodies(client, "a")

    assert len(client.sent) == attempts


GROUPS = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]
ITEM = Items.between(BATCH, GROUPS[0], 5, 5)


@pytest.mark.parametrize(
    ("items", "standing", "reason"),
    [
        (None, None, LeaveReason.NO_ITEM),
        (ITEM, None, LeaveReason.UNKNOWN),
        (ITEM, Standing(None), LeaveReason.UNKNOWN),
        (ITEM, Standing(State.OPEN, is_known=False), LeaveReason.UNKNOWN),
        (ITEM, Standing(State.OPEN), LeaveReason.ESTIMATED),
        (ITEM, Standing(State.CLOSED, []), LeaveReason.DONE),
        (ITEM, Standing(State.CLOSED, [Items.between(BATCH, GROUPS[0], 6, 9)]), LeaveReason.DONE),
        (ITEM, Standing(State.CLOSED, [Items.between(BATCH, GROUPS[0], 0, 5)]), None),
        *[
            (ITEM, Standing(state, [ITEM]), LeaveReason.ENDED)
            for state in State
            if state not in {State.OPEN, State.CLOSED}
        ],
    ],
)
def test_the_reason_to_leave(items, standing, reason):
    assert reason_to_leave(items, None, standing) is reason
    if items is not None:
        assert reason_to_leave(items, "another", standing) is LeaveReason.OTHER_BATCH


RANGES = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.integers(0, 30_000), st.integers(1, WINDOW_MAX)), max_size=12
)


@given(RANGES)
def test_every_range_lies_in_one_window_and_no_window_is_too_long(facts):
    ranges = [Items.between(BATCH, group, first, first + size - 1) for group, first, size in facts]
    found = windows(ranges)

    assert len(found) <= len(set(ranges))
    assert all(1 <= len(window) <= WINDOW_MAX for window in found)
    assert all(any(each[0] in window and each[-1] in window for window in found) for each in ranges)


def test_the_size_of_a_message_counts_its_attributes():
    attributes = {"n": {"DataType": "String", "StringValue": "käy"}}
    message = DeadLetterMessage({"MessageId": "m", "Body": "ä", "MessageAttributes": attributes})

    assert message.size == 2 + len("n") + len("String") + 4


CARRIED = (("traceparent", "x" * 55), ("tracestate", "y" * 512))


@pytest.mark.parametrize("most", [MESSAGE_BYTES, BATCH_BYTES])
@pytest.mark.parametrize(("room", "carried"), [(600, 2), (599, 1), (72, 1), (71, 0), (0, 0)])
def test_a_message_carries_as_much_of_a_trace_as_fits_below_the_same_limit(most, room, carried):
    (message,) = carrying(messages("x" * (most - room)), CARRIED)

    assert message.carried == CARRIED[:carried]
    assert message.size == most - room + (0, 72, 600)[carried]


def test_each_chunk_has_room_for_a_traceparent_and_a_request_counts_it():
    record = json.dumps("x" * 37)  # few bytes are left of a chunk
    chunks = list(carrying(chunked([Row(at, record) for at in range(9_000)], 10_000), CARRIED[:1]))
    longest = ["x" * (BATCH_BYTES // 4 - 72)] * 4

    assert len(chunks) == 2
    assert all(message.carried and message.size <= MESSAGE_BYTES for message in chunks)
    assert [len(each) for each in batches(carrying(messages(*longest), CARRIED[:1]))] == [4]
    assert [len(each) for each in batches(carrying(messages(*longest, "x"), CARRIED[:1]))] == [4, 1]
