"""What of a fuzzed request can be sent over HTTP, and that no server error passes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.fuzz import over_http
from tests.fuzz.mutating import Request
from tests.fuzz.over_http import Wire
from tests.fuzz.running import Judge


class Failing(BaseHTTPRequestHandler):
    """Answers 504 twice, and 500 from then on."""

    sent: list[str]

    def do_POST(self) -> None:
        self.sent.append(self.path)
        self.send_response(504 if len(self.sent) < 3 else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests speak through their claims."""


@pytest.fixture
def wire() -> Iterator[Wire]:
    Failing.sent = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield Wire(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


def test_a_busy_machine_is_asked_again_and_a_server_error_is_wrong(wire: Wire) -> None:
    judge = Judge()
    over_http._send(judge, "--http", wire, "POST /v1/other", Request("POST", "/v1/other/.."))

    assert Failing.sent == ["/v1/other/.."] * 3
    assert len(judge.wrong) == 1


def test_a_path_and_a_query_are_sent_as_bytes_that_a_url_has() -> None:
    request = Request("GET", "/v1/a b/\ud800/../%2e\n#?", query={"é": ["1", "2"], "x": 5})

    assert over_http.target(request) == "/v1/a%20b/%3F/../%2e%0A%23%3F?%C3%A9=1&%C3%A9=2&x=5"


def test_a_header_that_http_cannot_send_is_left_out() -> None:
    headers = {"host": "x", "accept": "a\r\nb", "idempotency-key": "é", "content-type": "text/plain"}

    assert over_http.headers_of(Request("GET", "/", headers=headers)) == {"content-type": "text/plain"}
