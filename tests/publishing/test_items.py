"""``fanin.send``: items with their rows in messages of SQS, all that can be sent; the rest is reported."""

from __future__ import annotations

import json

import pytest

import fanin
from fanin import FaninError, InvalidRequest
from fanin.client.consuming.chunks import chunk_of
from fanin.testing import FakeFanin

URL = "https://sqs.eu-west-1.amazonaws.com/1/work"


class Queue:
    """Takes what does not contain *refused*; that it refuses for good, or *times* times."""

    def __init__(self, refused="nothing", times=None):
        self.entries, self.refused, self.times, self.urls = [], refused, times, set()

    def send_message_batch(self, QueueUrl, Entries):  # noqa: N803 - the API's names
        bad = [each for each in Entries if self.refused in each["MessageBody"] and self.times != 0]
        self.times = self.times - 1 if self.times and bad else self.times
        self.entries += [each for each in Entries if each not in bad]
        self.urls.add(QueueUrl)
        is_fault = self.times is None
        return {"Failed": [{"Id": each["Id"], "Code": "No", "SenderFault": is_fault} for each in bad]}

    def get_queue_url(self, QueueName):  # noqa: N803
        return {"QueueUrl": f"https://sqs.eu-west-1.amazonaws.com/1/{QueueName}"}

    def rows(self):
        chunks = [chunk_of({"messageId": "m", "body": each["MessageBody"]}) for each in self.entries]
        return {chunk.item(at).id: chunk.item(at).row for chunk in chunks for at in chunk.items.indexes}


@pytest.fixture
def batch():
    return FakeFanin().open()


def send(queue, items, rows, url=URL, **options):
    return fanin.send(url, items, rows, client=queue, sleep=lambda _: None, **options)


@pytest.mark.parametrize(("chunk", "messages"), [(None, 30), (8, 5)])
def test_each_item_goes_out_with_its_row_in_the_group_of_its_batch(batch, chunk, messages):
    queue, batch_of_one = Queue(refused='"at": 7}', times=2), batch.add(1)
    items = [*batch_of_one, *batch.add(29)]
    rows = [{"at": at, "name": "\uffff é"} for at in range(29)] + [None]

    assert send(queue, items, iter(rows), chunk=chunk) == messages
    assert queue.rows() == dict(zip(items, rows, strict=True))
    assert {each["MessageGroupId"] for each in queue.entries} == {batch.id}


@pytest.mark.parametrize("chunk", [None, 4])
def test_what_sqs_refuses_is_said_once_all_else_is_sent(batch, chunk):
    queue, items = Queue(refused="wrong"), batch.add(30)
    rows = ["wrong" if at in (9, 22) else "good" for at in range(30)]

    with pytest.raises(fanin.SendFailed, match="refuses a message: No") as failed:
        send(queue, items, rows, chunk=chunk)

    unsent = {item for part in failed.value.items for item in part}
    assert {items[9], items[22]} <= unsent
    assert len(unsent) == 2 * (chunk or 1)
    assert unsent.isdisjoint(queue.rows())
    assert unsent | queue.rows().keys() == set(items)


@pytest.mark.parametrize(
    "rows",
    [
        *([1, 2], [1, 2, 3, 4], iter([1, 2]), "abc", {"a": 1, "b": 2, "c": 3}, None),
        *([1, 2, {3}], [1, 2, float("nan")], [1, 2, "x" * 2**20]),
    ],
)
def test_rows_that_cannot_be_sent_are_refused(batch, rows):
    queue = Queue()
    with pytest.raises(InvalidRequest) as refused:
        send(queue, batch.add(3), rows)

    assert refused.value.field == "rows"
    assert queue.entries == []


def test_a_queue_may_be_given_by_its_name(batch):
    queue = Queue()

    assert send(queue, batch.add(1), ["row"], url="work.fifo", group="mine") == 1
    assert queue.urls == {f"{URL}.fifo"}


def test_a_fifo_queue_takes_a_repeated_message_once_and_a_trace_goes_along(batch, monkeypatch):
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2-3")
    queue = Queue()
    send(queue, batch.add(12), range(12), url=f"{URL}.fifo", group="mine")
    traced = {json.dumps(each["MessageSystemAttributes"]["AWSTraceHeader"]) for each in queue.entries}

    assert [each["MessageGroupId"] for each in queue.entries] == ["mine"] * 12
    assert len({each["MessageDeduplicationId"] for each in queue.entries}) == 12
    assert list(queue.rows().values()) == [*range(12)]
    assert traced == {'{"DataType": "String", "StringValue": "Root=1-2-3"}'}


@pytest.mark.parametrize("options", [{"url": "a b"}, {"chunk": 0}, {"group": "a b"}, {"trace": 1}])
def test_options_are_checked_before_anything_is_sent(batch, options):
    queue = Queue()
    with pytest.raises(FaninError):
        send(queue, batch.add(1), [1], **options)
    assert queue.entries == []
