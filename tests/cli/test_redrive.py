"""``fanin redrive``: what is moved and left, as lines and as JSON, over the deployed handlers and moto."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin import Fanin
from fanin.aws import clients
from fanin.cli.terminal.exits import ExitCode
from fanin.dead_letter_queue_redrive import redrive
from tests.cli.serving import refusal
from tests.contract import moto_clients


@pytest.fixture
def sqs(monkeypatch):
    """SQS with the queue ``work`` and its dead-letter queue ``dead``."""
    monkeypatch.setattr(redrive, "WAIT_SECONDS", 0)
    with mock_aws():
        client = moto_clients.client("sqs")
        dead = client.create_queue(QueueName="dead")["QueueUrl"]
        arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
        client.create_queue(QueueName="work", Attributes={"RedrivePolicy": policy})
        client.create_queue(QueueName="other")
        monkeypatch.setattr(clients, "sqs", lambda: client)
        yield client


@pytest.fixture
def dead(sqs, served):
    """Dead-letter messages of a live batch ``live`` (two), an ended one (one), and of no item (one)."""
    client = Fanin(served.url)
    live, over = client.open("live"), client.open("over")
    bodies = [*live.add(2), *over.add(1), "no id"]
    over.cancel()
    url = sqs.get_queue_url(QueueName="dead")["QueueUrl"]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    return live


def depth(sqs, name):
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    facts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(facts["ApproximateNumberOfMessages"])


NOT_MOVED = ["left\tits batch has ended\t1", "left\tnames no item\t1"]


def test_messages_of_ended_batches_stay_and_the_reasons_are_counted(fanin, sqs, dead, served):
    completed = fanin("redrive", "dead").ok()

    assert completed.lines[0] == "moved\t\t2"
    assert sorted(completed.lines[1:]) == NOT_MOVED
    assert completed.err == f"redrive at {served.url.partition('//')[2]}\n"
    assert (depth(sqs, "dead"), depth(sqs, "work")) == (2, 2)


def test_a_dry_run_prints_what_would_be_moved_and_moves_nothing(fanin, sqs, dead):
    lines = fanin("redrive", "dead", "--dry-run").ok().lines
    (found,) = fanin("redrive", "dead", "--dry-run", "--json").ok().documents

    assert (lines[0], sorted(lines[1:])) == ("would move\t\t2", NOT_MOVED)
    not_moved = {"ended": 1, "noItem": 1}
    assert found == {"wouldMove": 2, "left": not_moved, "unseen": 0, "copies": 0, "dryRun": True}
    assert (depth(sqs, "dead"), depth(sqs, "work")) == (4, 0)


def test_a_batch_and_a_target_may_be_named(fanin, sqs, dead):
    first = fanin("redrive", "dead", "--batch", "over", "--to", "other")
    second = fanin("redrive", "dead", "--batch", dead.id, "--to", "other").ok()

    assert first.lines[0] == "moved\t\t0"
    assert second.lines[0] == "moved\t\t2"
    assert (depth(sqs, "other"), depth(sqs, "work")) == (2, 0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), ExitCode.USAGE),
        (("nope",), ExitCode.REFUSED),
        (("dead", "--batch", "nope"), ExitCode.REFUSED),
        (("dead", "--to", "dead"), ExitCode.REFUSED),
        (("dead", "--to", "nope"), ExitCode.REFUSED),
    ],
)
def test_what_is_wrong_is_refused_and_moves_nothing(fanin, sqs, dead, arguments, code):
    assert fanin("redrive", *arguments).code == code
    assert depth(sqs, "dead") == 4


def test_no_answer_is_5_and_all_messages_are_there(fanin, sqs, dead, served):
    served.faults[:] = [refusal(503)] * 30
    assert fanin("redrive", "dead").code == ExitCode.UNANSWERED
    assert (depth(sqs, "dead"), depth(sqs, "work")) == (4, 0)


@pytest.mark.parametrize("is_emulator", [False, True])
def test_a_queue_that_is_no_dead_letter_queue_is_refused_unless_a_target_is_named(
    fanin, sqs, monkeypatch, is_emulator
):
    def unknown(**_):
        raise ClientError({"Error": {"Code": "InvalidAction"}}, "ListDeadLetterSourceQueues")

    if is_emulator:
        monkeypatch.setattr(sqs, "list_dead_letter_source_queues", unknown)
    url = sqs.get_queue_url(QueueName="other")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    wrong = fanin("redrive", "other")

    assert (wrong.code, wrong.out) == (ExitCode.REFUSED, "")
    assert "other is the dead-letter queue of no queue: give that one" in wrong.err
    (message,) = sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert fanin("redrive", "dead").ok()
    assert fanin("redrive", "other", "--to", "work").ok()
