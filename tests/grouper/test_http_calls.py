"""HTTP services as batch APIs: what is sent, how long it may take, and what each response means."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
import urllib3

from fanin.aws.forking import PerProcess
from fanin.grouper import Answer, Call, Member, Outcome, Verdict
from fanin.grouper.calls.http import HttpDownstream
from fanin.grouper.rules.responses import ANSWER_BYTES

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}), Member("b", None)))
LONGER = Outcome(Verdict.RETRY, f"the response is longer than {ANSWER_BYTES} bytes")


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
        assert HttpDownstream(url, timeout=5).call(CALL).whole == LONGER


def test_a_refused_connection_is_tried_once_and_left_to_the_next_delivery():
    answer = HttpDownstream("http://127.0.0.1:1/").call(CALL)

    assert answer.whole == Outcome(Verdict.RETRY, "no response: NewConnectionError")


def test_the_timeout_of_a_policy_replaces_that_of_the_batch_api():
    def seconds(timeout, longest):
        return Call("t", "x", "b", 1, (), timeout, longest).seconds(10.0)

    assert seconds(None, timedelta(seconds=30)) == 10
    assert seconds(timedelta(seconds=3), timedelta(seconds=30)) == 3
    assert seconds(timedelta(seconds=40), timedelta(seconds=30)) == 30
