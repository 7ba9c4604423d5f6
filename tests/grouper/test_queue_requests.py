"""The requests to SQS: how many messages each has, and the pauses between repetitions."""

from __future__ import annotations

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import Posting, TaskKey, TaskMessage
from fanin.grouper.sqs import SqsQueue
from tests.grouper.test_messages_and_queue import Partly

POSTING = Posting(TaskMessage(TaskKey("t", "a")))


@pytest.mark.parametrize(
    ("messages", "requests"), [(0, []), (1, [1]), (10, [10]), (11, [10, 1]), (30, [10, 10, 10])]
)
def test_a_request_has_ten_messages(messages, requests):
    client = Partly()
    SqsQueue(client, "t", "b").send([POSTING] * messages)

    assert [len(each) for each in client.requests] == requests


def test_the_pause_before_a_repetition_doubles():
    pauses: list[float] = []
    with pytest.raises(StoreUnavailable):
        SqsQueue(Partly(*[["0"]] * 5), "t", "b", pauses.append).send([POSTING])

    assert pauses[:4] == pytest.approx([0.05, 0.1, 0.2, 0.4])


def test_nothing_pauses_after_every_message_was_accepted():
    pauses: list[float] = []
    SqsQueue(Partly(["0"]), "t", "b", pauses.append).send([POSTING])

    assert pauses == pytest.approx([0.05])
