"""HTTP services and functions as batch APIs: what is sent, and what each response means."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
import urllib3
from botocore.exceptions import ClientError, ReadTimeoutError

from fanin import Failed
from fanin.aws.forking import PerProcess
from fanin.grouper import (
    Answer,
    ByTarget,
    Call,
    Function,
    Member,
    Outcome,
    Refused,
    Retry,
    Verdict,
)
from fanin.grouper.batch_api_calls.http import HttpDownstream
from fanin.grouper.batch_api_calls.invoking import LambdaDownstream
from fanin.grouper.batch_api_calls.timeouts import answered_within
from fanin.grouper.rules.downstream import OK
from fanin.grouper.rules.responses import ANSWER_BYTES
from fanin.grouper.use_cases.registering import PAYLOAD_BYTES as TASK_BYTES

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}), Member("b", None)))


def test_the_request_carries_tasks_and_the_key(service):
    assert service.api.call(CALL) == Answer()
    path, headers, body = service.asked
    tasks = [{"taskId": "a", "payload": {"x": 1}}, {"taskId": "b", "payload": None}]

    assert (path, headers["Idempotency-Key"], headers["X-Team"]) == ("/bulk", "b-1", "a")
    assert body == {"bundleId": "b-1", "target": "search", "attempt": 2, "tasks": tasks}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_body_names_members(service, compress):
    results = [{"taskId": "a", "outcome": "fail", "detail": "no"}, {"taskId": "b", "outcome": "retry"}]
    service.status, service.body = 207, compress(json.dumps({"results": results}).encode())
    service.headers_out = {"Content-Encoding": "gzip"} if compress is gzip.compress else {}

    assert service.api.call(CALL).members == {"a": Outcome(Verdict.FAIL, "no"), "b": Outcome(Verdict.RETRY)}


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        *((status, Answer()) for status in (200, 204, 299)),
        (503, Answer(Outcome(Verdict.RETRY, "status 503"), retry_after=timedelta(seconds=7))),
        *((status, Answer(Outcome(Verdict.FAIL, f"status {status}"))) for status in (300, 308, 401, 409)),
    ],
)
@pytest.mark.parametrize("follows", [False, True])
def test_a_status_is_that_of_the_call_and_no_redirect_is_followed(service, status, answer, follows):
    service.status, service.headers_out = status, {"Retry-After": "7", "Location": "/elsewhere"}
    pool = {"pool": PerProcess(urllib3.PoolManager)} if follows else {}

    assert HttpDownstream(service.api.url, **pool).call(CALL) == answer
    assert service.asked[0] == "/bulk"


@contextmanager
def answering(*pieces, pause=0.0):
    """A service that sends *pieces*, *pause* seconds apart, and then keeps its connection open."""
    over = threading.Event()

    def send():
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            for piece in pieces:
                connection.sendall(piece)
                if over.wait(pause):
                    return
            over.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        sending = threading.Thread(target=send)
        sending.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        over.set()
        sending.join(60)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
SLOW = {"head": [bytes([byte]) for byte in HEAD], "body": [HEAD.replace(b": 2", b": 9999"), *[b" "] * 9999]}


@pytest.mark.parametrize("part", SLOW)
def test_a_service_that_answers_a_byte_at_a_time_is_not_waited_for(part):
    with answering(*SLOW[part], pause=0.1) as url:
        assert HttpDownstream(url, timeout=0.3).call(CALL).whole.verdict is Verdict.RETRY


def test_a_response_that_is_too_long_is_not_waited_for():
    """The service sends one byte beyond the limit, which decides, and not the next one."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {ANSWER_BYTES + 2}\r\n\r\n".encode()
    with answering(head + b" " * (ANSWER_BYTES + 1)) as url:
        assert HttpDownstream(url, timeout=5).call(CALL) == LONGER


def test_a_refused_connection_is_tried_once_and_left_to_the_next_delivery():
    answer = HttpDownstream("http://127.0.0.1:1/").call(CALL)

    assert answer.whole == Outcome(Verdict.RETRY, "no response: NewConnectionError")


def test_the_timeout_of_a_policy_replaces_that_of_the_batch_api():
    def seconds(timeout, longest):
        return Call("t", "x", "b", 1, (), timeout, longest).seconds(10.0)

    assert seconds(None, timedelta(seconds=30)) == 10
    assert seconds(timedelta(seconds=3), timedelta(seconds=30)) == 3
    assert seconds(timedelta(seconds=40), timedelta(seconds=30)) == 30


ARN = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
LIMIT, LONGEST = 6_291_456, 1_048_576
"""Bytes of a payload that docs/grouper.md names as too many, and the longest response."""
LONGER = Answer(Outcome(Verdict.RETRY, f"the response is longer than {LONGEST} bytes"))


class Lambda:
    """Lambda with the answer that the test gives; notes the requests."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def invoke(self, **request):
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer


def returning(value, **facts):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return {"StatusCode": 200, "Payload": io.BytesIO(text), **facts}


def refusing(status, code="X", **headers):
    facts = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": facts}, "Invoke")


def called(answer, call=CALL, timeout=10.0):
    return LambdaDownstream(Lambda(answer), ARN, timeout).call(call)


def again(detail, seconds=None):
    return Answer(Outcome(Verdict.RETRY, detail), retry_after=seconds and timedelta(seconds=seconds))


def refused(detail):
    return Answer(Outcome(Verdict.FAIL, detail))


def test_one_invocation_carries_tasks_and_the_key():
    client = Lambda(returning(None))
    answer = LambdaDownstream(client, ARN).call(CALL)
    (asked,) = client.asked
    tasks = [{"taskId": "a", "payload": {"x": 1}}, {"taskId": "b", "payload": None}]
    facts = {"bundleId": "b-1", "target": "search", "attempt": 2, "tasks": tasks}

    assert answer == Answer()
    assert (asked["FunctionName"], asked["InvocationType"]) == (ARN, "RequestResponse")
    assert json.loads(asked["Payload"]) == {"idempotencyKey": "b-1", **facts}


FAILS = [{"taskId": "a", "outcome": "fail"}]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        *(
            (each, Answer())
            for each in ("done", [1], True, None, b"", b" ", {"statusCode": 200, "body": "x"})
        ),
        ({"results": FAILS}, Answer(members={"a": Outcome(Verdict.FAIL)})),
        *(({"statusCode": each}, refused(f"status {each}")) for each in (199, 300, 422)),
        *(({"statusCode": each}, Answer()) for each in (200, 299, None)),
        *(({"statusCode": each}, again(f"status {each}")) for each in (503, "500")),
        (b"{}".ljust(LONGEST), Answer()),
        (b"{}".ljust(LONGEST + 1), LONGER),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_it_returns_is_the_response_and_a_status_code_in_it_the_status(value, answer):
    assert called(returning(value)) == answer


@pytest.mark.parametrize(
    ("text", "detail"), [("no stock", "no stock"), ("", "Failed"), (None, "Failed")], ids=repr
)
def test_a_function_that_raises_failed_refuses_the_bundle(text, detail):
    error = {"errorType": "Failed", "errorMessage": text}
    assert called(returning(error, FunctionError="Unhandled")) == refused(detail)


@pytest.mark.parametrize(
    ("body", "name"),
    [({"errorType": "KeyError", "errorMessage": "'x'"}, "KeyError")]
    + [(each, "unknown error") for each in (b"", b"{", b"\xff", b"{}", b"[1]", b"null", b"[" * 100_000)],
    ids=lambda body: repr(body)[:12],
)
def test_after_an_error_of_the_function_the_bundle_is_called_again(body, name):
    assert called(returning(body, FunctionError="Unhandled")) == again(f"the function failed: {name}")


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        *((refusing(each, **{"retry-after": "7"}), again(f"status {each}", 7)) for each in (429, 500, 503)),
        *((refusing(each), refused(f"status {each}")) for each in (400, 404, 413)),
        (refusing(403, "AccessDeniedException"), again("status 403: AccessDeniedException")),
        (ReadTimeoutError(endpoint_url="https://x"), again("no response: ReadTimeoutError")),
    ],
)
def test_an_error_of_lambda_calls_the_bundle_again_or_refuses_it(error, answer):
    assert called(error) == answer


def test_a_late_answer_is_none():
    assert called(lambda: time.sleep(5), timeout=0.05) == again("no response within the timeout")


def payload_of(client, length):
    """The answer of a call whose payload has *length* bytes."""
    empty = Lambda(lambda: returning(None))
    for api, missing in ((empty, 0), (client, length)):
        text = "x" * (missing and missing - len(empty.asked[0]["Payload"]))
        answer = LambdaDownstream(api, ARN).call(Call("t", "search", "b-1", 1, (Member("a", text),)))
    return answer


def test_the_longest_payload_is_sent_and_one_byte_more_refuses_the_bundle():
    client = Lambda(lambda: returning(None))
    answers = [payload_of(client, length) for length in (LIMIT - 1, LIMIT)]

    assert answers == [
        Answer(),
        refused(f"the payload has {LIMIT} bytes; an invocation takes less than {LIMIT}"),
    ]
    assert [len(asked["Payload"]) for asked in client.asked] == [LIMIT - 1]
    assert TASK_BYTES < LIMIT // 100


def raising(error):
    def function(call):
        raise error

    return Function(function)


def cancelled(call):
    async def call_api():
        raise asyncio.CancelledError

    return asyncio.run(call_api())


NAMED = {"a": Outcome(Verdict.FAIL, "no")}


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (Function(lambda call: None), Answer()),
        (Function(lambda call: NAMED), Answer(OK, NAMED)),
        (raising(Retry("busy", timedelta(seconds=3))), again("busy", 3)),
        (raising(Refused("never")), refused("never")),
        (raising(Failed("never")), refused("never")),
        (raising(ExceptionGroup("tasks", [Failed("never")])), refused("never")),
        (raising(KeyError("x")), again("KeyError: 'x'")),
        (Function(cancelled), again("CancelledError: ")),
    ],
)
def test_a_function_returns_outcomes_or_raises_what_is_to_be_done(function, answer):
    assert function.call(CALL) == answer


@pytest.mark.parametrize(
    "result", [False, True, 0, "OK", [FAILS], {"a": "fail"}, {"a": OK, "b": "ok"}], ids=repr
)
def test_a_function_that_returns_anything_but_outcomes_is_no_success(result):
    whole = Function(lambda call: result).call(CALL).whole

    assert whole.verdict is Verdict.RETRY
    assert f"the function returned {type(result).__name__}" in whole.detail


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_a_process_is_no_answer_of_a_function(error):
    with pytest.raises(error):
        raising(error).call(CALL)


@pytest.mark.parametrize("error", [ValueError("token"), OSError("token"), RecursionError()], ids=repr)
def test_an_error_of_a_call_is_answered_at_once_without_its_text(error):
    def call():
        raise error

    assert answered_within(1, call) == again(f"no response: {type(error).__name__}")


def test_the_first_pattern_that_fits_the_target_is_called():
    apis = ByTarget([("mail*", raising(Refused("wrong"))), ("*", Function(lambda call: None))])
    unset = ByTarget([]).call(CALL).whole

    assert apis.call(CALL) == Answer()
    assert unset.verdict is Verdict.FAIL
    assert "grouper_downstream" in unset.detail
