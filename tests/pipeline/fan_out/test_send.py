from __future__ import annotations

import json
import random

import pytest
from pyspark.sql import Row

from fanin import pacing
from fanin.pacing import Pace
from fanin.publishing import packing
from fanin.publishing.packing import Message
from fanin.publishing.sending import SendFailed
from pipeline.fan_out import send


class ScriptedClient:
    """Answers each SendMessageBatch with the next of the given lists of failed ids; then takes everything."""

    def __init__(self, *failures: list[dict]) -> None:
        self.failures = list(failures)
        self.sent: list[list[str]] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict]) -> dict:  # noqa: N803 - the API's names
        self.sent.append([entry["MessageBody"] for entry in Entries])
        return {"Failed": self.failures.pop(0)} if self.failures else {"Successful": Entries}


def later(*ids: str) -> list[dict]:
    return [{"Id": i, "Code": "InternalError", "SenderFault": False} for i in ids]


def messages(*bodies: str) -> list[Message]:
    return [Message(1, body, "batch") for body in bodies]


def send_bodies(client, *bodies: str, sleep=lambda seconds: None) -> int:
    return send.send(client, "url", messages(*bodies), pacing.waits(random.Random(1)), sleep)


def test_the_body_carries_the_item_its_record_and_the_time():
    row = Row(position=3, copy=1, item_id="b:g:3", record='{"name":"x","size":1}')

    assert json.loads(Message.of(row, 1795249077306).body) == {
        "itemId": "b:g:3",
        "record": {"name": "x", "size": 1},
        "sentAt": 1795249077306,
    }


def test_messages_go_ten_at_a_time_in_order():
    found = [[m.body for m in batch] for batch in packing.batches(messages(*map(str, range(23))))]

    assert found == [[str(i) for i in range(10)], [str(i) for i in range(10, 20)], ["20", "21", "22"]]


def test_a_request_stays_within_the_bytes_that_sqs_takes():
    third = "é" * (packing.BATCH_BYTES // 6)

    assert [len(batch) for batch in packing.batches(messages(*[third] * 7))] == [3, 3, 1]


def test_no_messages_make_no_request():
    assert list(packing.batches([])) == []


def test_only_the_failed_entries_are_sent_again():
    client = ScriptedClient(later("1", "2"), later("2"))

    again = send_bodies(client, "a", "b", "c")

    assert (client.sent, again) == ([["a", "b", "c"], ["b", "c"], ["c"]], 3)


def test_a_pause_follows_each_failure_and_none_a_success():
    pauses: list[float] = []

    send_bodies(ScriptedClient(later("0"), later("0")), "a", sleep=pauses.append)

    assert len(pauses) == 2


def test_sending_gives_up_after_a_bounded_number_of_attempts():
    client = ScriptedClient(*[later("0")] * 100)

    with pytest.raises(SendFailed):
        send_bodies(client, "a")

    assert len(client.sent) == pacing.ATTEMPTS


def test_an_entry_that_is_the_senders_fault_is_not_sent_again():
    client = ScriptedClient([{"Id": "0", "Code": "InvalidMessageContents", "SenderFault": True}])

    with pytest.raises(SendFailed, match="InvalidMessageContents"):
        send_bodies(client, "a")

    assert len(client.sent) == 1


def test_pauses_are_spread_below_a_bound_that_doubles_up_to_a_limit():
    many = [list(pacing.waits(random.Random(seed))) for seed in range(200)]

    for attempt in range(pacing.ATTEMPTS):
        bound = min(pacing.LONGEST_WAIT, pacing.FIRST_WAIT * 2**attempt)
        drawn = [pauses[attempt] for pauses in many]
        assert all(0 <= pause <= bound for pause in drawn)
        assert max(drawn) - min(drawn) > bound / 2


def test_a_pace_rests_until_its_messages_are_due():
    pace = Pace(rate=100.0, started=50.0).after(10).after(20)

    assert pace.pause(now=50.1) == pytest.approx(0.2)
    assert pace.pause(now=51.0) == 0


def test_without_a_rate_there_is_no_rest():
    assert Pace(rate=None, started=50.0).after(1000).pause(now=50.0) == 0
