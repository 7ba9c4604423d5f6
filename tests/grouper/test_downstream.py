"""Functions and HTTP services as batch APIs."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import suppress
from datetime import timedelta

import pytest

from fanin.grouper import Answer, ByTarget, Call, Function, Member, Outcome, Refused, Retry, Verdict
from fanin.grouper.calls.http import HttpDownstream
from fanin.grouper.rules.downstream import OK
from fanin.grouper.rules.responses import retry_after

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}), Member("b", None)))


def raising(error):
    def function(call):
        raise error

    return Function(function)


def test_a_function_that_returns_nothing_did_it_all():
    assert Function(lambda call: None).call(CALL) == Answer()


def test_a_function_names_members():
    named = {"a": Outcome(Verdict.FAIL, "no")}

    assert Function(lambda call: named).call(CALL) == Answer(OK, named)


def test_a_function_raises_what_is_to_be_done():
    after = timedelta(seconds=3)

    assert raising(Retry("busy", after)).call(CALL) == Answer(Outcome(Verdict.RETRY, "busy"), {}, after)
    assert raising(Refused("never")).call(CALL) == Answer(Outcome(Verdict.FAIL, "never"))
    assert raising(KeyError("x")).call(CALL) == Answer(Outcome(Verdict.RETRY, "KeyError: 'x'"))


def test_the_first_pattern_that_fits_the_target_is_called():
    apis = ByTarget([("mail*", raising(Refused("wrong"))), ("*", Function(lambda call: None))])

    assert apis.call(CALL) == Answer()
    unset = ByTarget([]).call(CALL).whole
    assert unset.verdict is Verdict.FAIL
    assert "grouper_downstream" in unset.detail


def test_the_request_carries_tasks_and_the_key(service):
    assert service.api.call(CALL) == Answer()
    path, headers, body = service.asked
    tasks = [{"taskId": "a", "payload": {"x": 1}}, {"taskId": "b", "payload": None}]

    assert (path, headers["Idempotency-Key"], headers["X-Team"]) == ("/bulk", "b-1", "a")
    assert body == {"bundleId": "b-1", "target": "search", "attempt": 2, "tasks": tasks}


def test_a_body_names_members(service):
    service.status = 207
    results = [{"taskId": "a", "outcome": "fail", "detail": "no"}, {"taskId": "b", "outcome": "retry"}]
    service.body = json.dumps({"results": results}).encode()

    assert service.api.call(CALL).members == {
        "a": Outcome(Verdict.FAIL, "no"),
        "b": Outcome(Verdict.RETRY),
    }


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"results": null}',
        b'{"results": 1}',
        b'{"results": [{"taskId": "a"}]}',
        b'{"results": [{"taskId": "a", "outcome": 1}]}',
        b'{"results": [{"taskId": 1, "outcome": "fail"}]}',
        b'{"results": [{"taskId": "a", "outcome": "ok"}, {"taskId": "a", "outcome": "fail"}]}',
    ],
)
def test_an_answer_that_cannot_be_read_is_no_success(service, body):
    service.body = body

    assert service.api.call(CALL).whole == Outcome(
        Verdict.RETRY, "the response is not of the form {results: [{taskId, outcome}]}"
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7),
        ("99999", 900),
        ("1e9", None),
        ("-1", None),
        ("²", None),
        ("9" * 5000, None),
    ],
)
def test_retry_after_is_a_bounded_number_of_seconds(text, seconds):
    assert retry_after(text) == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "pieces", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", None], ids=["head", "body"]
)
def test_a_service_that_answers_a_byte_at_a_time_is_not_waited_for(pieces):
    over = threading.Event()

    def drip():
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            if pieces is None:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
            for byte in pieces or b" " * 9999:
                connection.sendall(bytes([byte]))
                if over.wait(0.1):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = threading.Thread(target=drip)
        dripping.start()
        answer = HttpDownstream(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=0.3).call(CALL)
        still = dripping.is_alive()
        over.set()
        dripping.join(60)

    assert (answer.whole.verdict, still) == (Verdict.RETRY, True)


def test_a_function_whose_coroutine_was_cancelled_is_called_again():
    async def call_api(call):
        raise asyncio.CancelledError

    answer = Function(lambda call: asyncio.run(call_api(call))).call(CALL)

    assert answer.whole == Outcome(Verdict.RETRY, "CancelledError: ")
