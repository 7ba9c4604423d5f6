"""A Lambda function as batch API."""

from __future__ import annotations

import io
import json
import time
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from fanin.grouper import Answer, Call, Isolation, Member, Outcome, Policy, Verdict
from fanin.grouper.calls.invoking import LambdaDownstream
from fanin.grouper.rules.responses import ANSWER_BYTES

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}), Member("b", None)))
ARN = "arn:aws:lambda:eu-west-1:111122223333:function:batch"


class Recorded:
    """Lambda with the answer that the test gives."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def invoke(self, **request):
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        if callable(self.answer):
            return self.answer()
        return self.answer


def returning(value, **facts):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return {"StatusCode": 200, "Payload": io.BytesIO(text), **facts}


def refusing(status, code="X", **headers):
    facts = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": facts}, "Invoke")


def called(answer, call=CALL, timeout=10.0):
    return LambdaDownstream(Recorded(answer), ARN, timeout).call(call)


def test_one_invocation_carries_tasks_and_the_key():
    client = Recorded(returning(None))
    answer = LambdaDownstream(client, ARN).call(CALL)
    (asked,) = client.asked
    tasks = [{"taskId": "a", "payload": {"x": 1}}, {"taskId": "b", "payload": None}]

    assert answer == Answer()
    assert (asked["FunctionName"], asked["InvocationType"]) == (ARN, "RequestResponse")
    assert json.loads(asked["Payload"]) == {
        "idempotencyKey": "b-1",
        "bundleId": "b-1",
        "target": "search",
        "attempt": 2,
        "tasks": tasks,
    }


def test_what_it_returns_names_members():
    results = [{"taskId": "a", "outcome": "fail", "detail": "no"}, {"taskId": "b", "outcome": "retry"}]

    assert called(returning({"results": results})).members == {
        "a": Outcome(Verdict.FAIL, "no"),
        "b": Outcome(Verdict.RETRY),
    }


@pytest.mark.parametrize("value", [{"results": 1}, "outcome: fail", b" " * (ANSWER_BYTES + 1)], ids=repr)
def test_what_cannot_be_read_is_no_success(value):
    if isinstance(value, bytes):
        value = b'"' + value + b'"'

    assert called(returning(value)).whole.verdict is Verdict.RETRY


@pytest.mark.parametrize("value", ["done", [1], True, {"status": "ok"}, {"statusCode": 200, "body": "done"}])
def test_what_names_no_outcome_is_a_success(value):
    assert called(returning(value)) == Answer()


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(199, Verdict.FAIL), (200, Verdict.OK), (299, Verdict.OK), (300, Verdict.FAIL), (None, Verdict.OK)],
)
def test_a_status_code_from_200_to_299_is_a_success(status, verdict):
    assert called(returning({"statusCode": status})).whole.verdict is verdict


def test_a_status_as_behind_api_gateway_is_the_status_of_the_call():
    named = json.dumps({"results": [{"taskId": "a", "outcome": "fail"}]})

    assert called(returning({"statusCode": 503})).whole == Outcome(Verdict.RETRY, "status 503")
    assert called(returning({"statusCode": 422, "body": "no"})).whole == Outcome(Verdict.FAIL, "status 422")
    assert called(returning({"statusCode": "500"})).whole == Outcome(Verdict.RETRY, "status 500")
    assert called(returning({"statusCode": 200, "body": named})).whole.verdict is Verdict.RETRY


def test_after_an_error_of_the_function_the_bundle_is_called_again():
    error = {"errorType": "KeyError", "errorMessage": "'x'", "stackTrace": []}

    assert called(returning(error, FunctionError="Unhandled")).whole == Outcome(
        Verdict.RETRY, "the function failed: KeyError"
    )
    assert called(returning(b"{", FunctionError="Unhandled")).whole.verdict is Verdict.RETRY


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_after_a_throttle_or_an_outage_the_bundle_is_called_again(status):
    throttled = refusing(status, **{"retry-after": "7"})

    assert called(throttled) == Answer(
        Outcome(Verdict.RETRY, f"status {status}"), retry_after=timedelta(seconds=7)
    )


def test_a_missing_grant_is_no_fault_of_the_tasks():
    assert called(refusing(403, "AccessDeniedException")).whole == Outcome(
        Verdict.RETRY, "status 403: AccessDeniedException"
    )


def test_no_answer_and_a_late_one_call_the_bundle_again():
    lost = called(ReadTimeoutError(endpoint_url="https://x"))
    late = called(lambda: time.sleep(5), timeout=0.05)

    assert lost.whole == Outcome(Verdict.RETRY, "no response: ReadTimeoutError")
    assert late.whole == Outcome(Verdict.RETRY, "no response within the timeout")


def test_a_bundle_that_is_too_large_is_called_in_halves(make_bench):
    bench = make_bench(Policy(max_size=4, isolation=Isolation.HALVES))
    client = Recorded(lambda: returning(None))
    most = 2

    class Small(LambdaDownstream):
        """A function that takes two tasks at most."""

        def call(self, call):
            if len(call.members) > most:
                return Answer(Outcome(Verdict.FAIL, "too large"))
            return super().call(call)

    bench.api = Small(client, ARN)
    bench.register(*"abcd")
    bench.drain()

    assert bench.states(*"abcd") == ["SUCCEEDED"] * 4
    assert [len(json.loads(each["Payload"])["tasks"]) for each in client.asked] == [2, 2]
