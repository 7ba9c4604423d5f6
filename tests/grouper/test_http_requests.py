"""What a call of an HTTP service asks of urllib3, and what each status and the end of a response mean."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from dataclasses import dataclass, field

import pytest
import urllib3

from fanin.aws.forking import PerProcess
from fanin.grouper import Call, Member, Outcome, Verdict
from fanin.grouper.calls.http import HttpDownstream
from fanin.grouper.rules.responses import ANSWER_BYTES

CALL = Call("t", "search", "b-1", 2, (Member("a", {"x": 1}),))
URL = "https://batch.example.com/"


@dataclass
class Response:
    """A response of urllib3 that notes how its connection ended."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    def read(self, amount, decode_content=None):
        return self.body[:amount]

    def close(self):
        self.ended.append("closed")

    def release_conn(self):
        self.ended.append("released")


@dataclass
class Pool:
    """A pool of connections with one response, which notes what it was asked for."""

    response: Response = field(default_factory=Response)
    asked: list[dict] = field(default_factory=list)

    def request(self, method, url, **facts):
        self.asked.append({"method": method, "url": url, **facts})
        return self.response


def api_with(pool, **facts):
    return HttpDownstream(URL, pool=PerProcess(lambda: pool), **facts)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(199, Verdict.FAIL), (200, Verdict.OK), (299, Verdict.OK), (300, Verdict.FAIL)],
)
def test_a_status_from_200_to_299_is_a_success(status, verdict):
    answer = api_with(Pool(Response(status))).call(CALL)

    assert answer.whole == Outcome(verdict, "" if verdict is Verdict.OK else f"status {status}")


@pytest.mark.parametrize(("length", "ended"), [(ANSWER_BYTES, "released"), (ANSWER_BYTES + 1, "closed")])
def test_a_connection_is_used_again_unless_its_response_was_too_long_to_be_read(length, ended):
    response = Response(body=b" " * length)
    answer = api_with(Pool(response)).call(CALL)

    assert response.ended == [ended]
    assert answer.whole.verdict is (Verdict.OK if ended == "released" else Verdict.RETRY)


def test_a_response_that_is_too_long_is_not_waited_for():
    """The service sends one byte beyond the limit, which decides, and not the next one."""
    over = threading.Event()

    def send():
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {ANSWER_BYTES + 2}\r\n\r\n"
            connection.sendall(head.encode() + b" " * (ANSWER_BYTES + 1))
            over.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        sending = threading.Thread(target=send)
        sending.start()
        answer = HttpDownstream(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=5).call(CALL)
        over.set()
        sending.join(60)

    assert answer.whole == Outcome(Verdict.RETRY, f"the response is longer than {ANSWER_BYTES} bytes")


def test_a_compressed_response_is_read(service):
    named = {"results": [{"taskId": "a", "outcome": "fail", "detail": "no"}]}
    service.body = gzip.compress(json.dumps(named).encode())
    service.headers_out = {"Content-Encoding": "gzip"}

    assert service.api.call(CALL).members == {"a": Outcome(Verdict.FAIL, "no")}


def test_a_pool_that_follows_redirects_does_not_follow_one_of_a_batch_api(service):
    service.status, service.headers_out = 308, {"Location": "/elsewhere"}
    api = HttpDownstream(service.api.url, pool=PerProcess(urllib3.PoolManager))

    assert api.call(CALL).whole == Outcome(Verdict.FAIL, "status 308")
    assert service.asked[0] == "/bulk"


def test_a_refused_connection_is_tried_once_and_left_to_the_next_delivery():
    answer = HttpDownstream("http://127.0.0.1:1/").call(CALL)

    assert answer.whole == Outcome(Verdict.RETRY, "no response: NewConnectionError")
