"""FIFO queues: at the first message of a group that returns, the rest of that group returns without work."""

from __future__ import annotations

import logging

import pytest

ARN = "arn:aws:sqs:eu-west-1:111122223333:work"


def delivery(*messages, arn=f"{ARN}.fifo", times=1, numbered=True):
    """Return an event of (body, message group) in the order of the queue; ids are the bodies' places."""
    records = []
    for number, (body, group) in enumerate(messages):
        sequence = {"SequenceNumber": str(number)} if numbered else {}
        attributes = {"ApproximateReceiveCount": str(times), "MessageGroupId": group, **sequence}
        records.append(
            {"messageId": f"m{number}", "body": body, "attributes": attributes, "eventSourceARN": arn}
        )
    return {"Records": records}


def returned(answer):
    return sorted(each["itemIdentifier"] for each in answer["batchItemFailures"])


class Work:
    """A function that keeps what it was called for, and raises for some bodies."""

    def __init__(self, *broken):
        self.broken, self.bodies = broken, []

    def __call__(self, record):
        self.bodies.append(record["body"])
        if record["body"] in self.broken:
            raise ValueError("broken")


@pytest.fixture
def batch(fanin):
    opened = fanin.open()
    opened.items = list(opened.add(6))
    return opened


def outstanding_indexes(batch):
    return [item for part in batch.outstanding() for item in part]


@pytest.mark.parametrize("times", [1, 2])
def test_messages_behind_a_failed_one_of_their_group_return_without_work_and_other_groups_go_on(
    fanin, batch, times, caplog
):
    a, b, c, d, e, f = batch.items
    work = Work(b)
    event = delivery((a, "x"), (b, "x"), (c, "y"), (d, "x"), (e, "y"), (f, "x"), times=times)
    with caplog.at_level(logging.WARNING, logger="fanin"):
        answer = fanin.acks(work)(event, None)

    assert returned(answer) == ["m1", "m3", "m5"]
    assert work.bodies == [a, b, c, e]
    assert outstanding_indexes(batch) == [b, d, f]
    assert "2 messages return to the queue, behind one of their group" in caplog.text


def test_the_message_groups_of_a_standard_queue_have_no_order(fanin, batch):
    a, b, *_ = batch.items
    event = delivery((a, "x"), (b, "x"), arn=ARN, numbered=False)

    assert returned(fanin.acks(Work(a))(event, None)) == ["m0"]
    assert a in outstanding_indexes(batch)
    assert b not in outstanding_indexes(batch)


FIRST = {
    "names no item": lambda item: "no item",
    "is of no batch": lambda item: f"{'0' * 8}-0000-4000-8000-00000000dead:{item.split(':')[1]}:0",
    "raises": lambda item: item,
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("is_done", [False, True])
def test_a_message_that_is_handed_over_or_done_returns_behind_one_that_does(fanin, batch, first, is_done):
    a, b, c, *_ = batch.items
    called = []

    @fanin.acks(skip_done=True)
    def work(record):
        called.append(record["body"])
        if record["body"] == a:
            raise ValueError("broken")
        fanin.hand_over()

    if is_done:
        fanin.ack([b, c])
    answer = work(delivery((FIRST[first](a), "x"), (b, "x"), (c, "y")), None)

    assert returned(answer) == ["m0", "m1"]
    assert b not in called
    assert (c in called) != is_done


def test_acks_have_no_order_so_that_a_dead_letter_message_holds_no_other_one_back(fanin, batch):
    handler = fanin.dead_letter_handler()
    event = delivery(("no item", "x"), (batch.items[0], "x"))

    assert returned(handler(event, None)) == ["m0"]
    assert batch.status().failed == 1
