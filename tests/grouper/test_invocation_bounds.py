"""The bounds of an invocation: its payload, its response and its timeout; and the errors of a function."""

from __future__ import annotations

import io

import pytest
from botocore.exceptions import ReadTimeoutError

from fanin.grouper import Answer, Call, Member, Outcome, Verdict
from fanin.grouper.calls.invoking import LambdaDownstream

ARN = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
LIMIT, LONGEST = 6_291_456, 1_048_576
"""Bytes of a payload that docs/grouper.md names as too many, and the longest response."""


class Client:
    """Lambda with one response; notes the lengths of the payloads."""

    def __init__(self, body=b"", **facts):
        self.body, self.facts, self.lengths = body, facts, []

    def invoke(self, *, FunctionName, InvocationType, Payload):  # noqa: N803  # as boto3 has it
        self.lengths.append(len(Payload))
        return {"StatusCode": 200, "Payload": io.BytesIO(self.body), **self.facts}


def calling(client, text=""):
    return LambdaDownstream(client, ARN).call(Call("t", "search", "b-1", 1, (Member("a", text),)))


def payload_of(client, length):
    """The answer of a call whose payload has *length* bytes."""
    empty = Client()
    calling(empty)
    return calling(client, "x" * (length - empty.lengths[0]))


def test_the_longest_payload_is_sent_and_one_byte_more_refuses_the_bundle():
    client = Client()
    answers = [payload_of(client, length) for length in (LIMIT - 1, LIMIT)]
    detail = f"the payload has {LIMIT} bytes; an invocation takes less than {LIMIT}"

    assert answers == [Answer(), Answer(Outcome(Verdict.FAIL, detail))]
    assert client.lengths == [LIMIT - 1]


def test_the_longest_response_is_read_and_one_byte_more_calls_the_bundle_again():
    answers = [calling(Client(b"{}".ljust(length))) for length in (LONGEST, LONGEST + 1)]
    detail = f"the response is longer than {LONGEST} bytes"

    assert answers == [Answer(), Answer(Outcome(Verdict.RETRY, detail))]


class Stalled(io.BytesIO):
    """A response that times out if more is read than was sent."""

    def read(self, amount):
        found = super().read(amount)
        if len(found) < amount:
            raise ReadTimeoutError(endpoint_url="https://lambda.eu-west-1.amazonaws.com")
        return found


def test_a_response_that_is_too_long_is_not_waited_for():
    answer = calling(Client(Payload=Stalled(b" " * (LONGEST + 1))))

    assert answer.whole.detail == f"the response is longer than {LONGEST} bytes"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"{}", b"[1]", b"null", b"[" * 100_000], ids=lambda body: repr(body[:4])
)
def test_an_error_without_a_type_is_reported_as_unknown(body):
    answer = calling(Client(body, FunctionError="Unhandled"))

    assert answer == Answer(Outcome(Verdict.RETRY, "the function failed: unknown error"))
