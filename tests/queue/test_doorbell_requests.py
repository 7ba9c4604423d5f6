"""The requests of a doorbell to SQS: polls, batches, delays, the attributes of a new one, and refusals."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from fanin.queue import Ring
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from tests.queue.conftest import KEY

ARNS = "arn:aws:sqs:eu-west-1:123456789012:fanin-dev_bell"
REQUESTS_MAX = 50
"""After so many requests a test fails, instead of polling forever."""


class Sqs:
    """A client of SQS that notes its requests; *clock*: seconds, in which a poll without a message lasts."""

    def __init__(self, read_timeout=60, refuse=None):
        self.meta = SimpleNamespace(config=SimpleNamespace(read_timeout=read_timeout))
        self.clock, self.refuse, self.made = 1000.0, refuse or {}, []
        self.messages: list[dict[str, str]] = []

    def __getattr__(self, operation):
        def request(**facts):
            assert len(self.made) < REQUESTS_MAX
            self.made.append((operation, facts))
            if operation in self.refuse:
                raise ClientError({"Error": {"Code": self.refuse[operation]}}, operation)
            return self.answer(operation, facts)

        return request

    def answer(self, operation, facts):
        if operation == "receive_message":
            if not self.messages:
                self.clock += facts.get("WaitTimeSeconds", 0)
            return {"Messages": self.messages}
        return {"QueueUrl": f"https://sqs/123456789012/{facts.get('QueueName')}"}

    def of(self, operation):
        return [facts for name, facts in self.made if name == operation]

    def polls(self):
        return [facts["WaitTimeSeconds"] for facts in self.of("receive_message")]


def bell_on(monkeypatch, sqs) -> SqsDoorbell:
    """A doorbell whose clock is that of *sqs*."""
    monkeypatch.setattr("fanin.queue.sqs.time", SimpleNamespace(monotonic=lambda: sqs.clock))
    return SqsDoorbell(sqs, "https://sqs/123456789012/bell", KEY)


@pytest.mark.parametrize(
    ("read_timeout", "seconds", "polls"),
    [
        (60, 0, [0]),
        (60, 20, [20]),
        (60, 50, [20, 20, 10]),
        (60, 0.5, [1]),
        (60, 20.5, [20, 1]),
        (5, 6, [4, 2]),
        (1, 3, [1, 1, 1]),
    ],
)
def test_a_wait_is_made_of_polls_that_end_before_the_client_times_out(
    monkeypatch, read_timeout, seconds, polls
):
    sqs = Sqs(read_timeout)

    assert bell_on(monkeypatch, sqs).wait(seconds, 1) == []
    assert sqs.polls() == polls


@pytest.mark.parametrize(("most", "messages"), [(1, 1), (10, 10), (11, 10)])
def test_a_poll_asks_for_ten_messages_at_most(monkeypatch, most, messages):
    sqs = Sqs()
    bell_on(monkeypatch, sqs).wait(0, most)

    assert [facts["MaxNumberOfMessages"] for facts in sqs.of("receive_message")] == [messages]


def test_a_batch_has_ten_rings(monkeypatch):
    sqs = Sqs()
    bell = bell_on(monkeypatch, sqs)
    bell.ring([Ring(part) for part in range(21)])
    bell.delete([Ring(part, receipt=str(part)) for part in range(21)])

    for operation in ("send_message_batch", "delete_message_batch"):
        assert [len(facts["Entries"]) for facts in sqs.of(operation)] == [10, 10, 1]


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [({}, 0), ({"delay": 0.2}, 1), ({"delay": 900.0}, 900), ({"delay": 900.5}, 900)],
    ids=str,
)
def test_a_ring_is_delayed_by_whole_seconds_up_to_a_quarter_of_an_hour(monkeypatch, delay, seconds):
    sqs = Sqs()
    bell_on(monkeypatch, sqs).ring([Ring(1)], **delay)
    ((entry,),) = [facts["Entries"] for facts in sqs.of("send_message_batch")]

    assert entry["DelaySeconds"] == seconds


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", "does not exist"),
        ("QueueDoesNotExist", "does not exist"),
        ("AWS.SimpleQueueService.QueueDeletedRecently", "less than 60 s ago"),
        ("QueueDeletedRecently", "less than 60 s ago"),
    ],
)
def test_an_sqs_queue_that_does_not_exist_is_a_missing_doorbell(monkeypatch, code, text):
    sqs = Sqs(refuse={"send_message_batch": code})
    with pytest.raises(DoorbellMissing, match=text):
        bell_on(monkeypatch, sqs).ring([Ring(1)])


def created(code=None):
    """Create a doorbell where the stack made none; SQS refuses with *code*, if any."""
    sqs = Sqs()
    find = sqs.answer

    def answer(operation, facts):
        if operation == "get_queue_url" and not sqs.of("create_queue"):
            raise ClientError({"Error": {"Code": "QueueDoesNotExist"}}, operation)
        return find(operation, facts)

    sqs.answer = answer
    sqs.refuse = {"create_queue": code} if code else {}
    return sqs, SqsDoorbells(sqs, ARNS).create(KEY)


@pytest.mark.parametrize("code", ["QueueAlreadyExists", "QueueNameExists"])
def test_a_doorbell_that_has_other_attributes_is_kept(code):
    sqs, url = created(code)

    assert url == f"https://sqs/123456789012/{sqs.of('create_queue')[0]['QueueName']}"
    assert sqs.made[-1][0] == "get_queue_url"


def test_any_other_refusal_to_create_a_doorbell_is_raised():
    with pytest.raises(ClientError, match="AccessDenied"):
        created("AccessDenied")


def test_a_new_doorbell_is_encrypted_and_accepts_requests_with_tls_alone():
    sqs, _ = created()
    (request,) = sqs.of("create_queue")
    policy = json.loads(request["Attributes"].pop("Policy"))

    assert request["Attributes"] == {
        "VisibilityTimeout": "180",
        "MessageRetentionPeriod": "3600",
        "ReceiveMessageWaitTimeSeconds": "20",
        "SqsManagedSseEnabled": "true",
    }
    assert policy == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": {"AWS": "*"},
                "Action": "sqs:*",
                "Resource": f"arn:aws:sqs:eu-west-1:123456789012:{request['QueueName']}",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            }
        ],
    }
