"""Rows are packed into messages and requests as SQS takes them, and what it refuses is sent again."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest

from fanin import pacing
from fanin.publishing.packing import BATCH_BYTES, MESSAGE_BYTES, Message, batches, chunked
from fanin.publishing.sending import SendFailed, send

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
