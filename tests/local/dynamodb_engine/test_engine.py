"""Which engines a run takes, and what it says of others."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from fanin.local import LocalRun, LocalRunError
from fanin.local.dynamodb_engine.engine import Engine, require

UNKNOWN = (400, b'{"__type": "com.amazon.coral.service#UnknownOperationException"}')
NO_TABLES = (200, b'{"TableNames": []}')


@contextmanager
def answering(answer: Callable[[str], tuple[int, bytes]]) -> Iterator[str]:
    """Serve *answer*, of the operation, and yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, body = answer(self.headers["x-amz-target"].rpartition(".")[2])
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_engine_with_transactions_is_taken(engine_url):
    require(Engine(engine_url))


def test_an_engine_without_transactions_is_refused():
    answers = {"ListTables": NO_TABLES}

    with (
        answering(lambda operation: answers.get(operation, UNKNOWN)) as url,
        pytest.raises(LocalRunError, match=f"{url} has no transactions, which fanin needs"),
    ):
        require(Engine(url))


@pytest.mark.parametrize("answer", [(404, b"<html>"), (200, b"{}"), (200, b"[1]"), (200, b"hello"), UNKNOWN])
def test_what_is_no_dynamodb_is_refused(answer):
    with (
        answering(lambda _: answer) as url,
        pytest.raises(LocalRunError, match=f"{url} is no DynamoDB"),
    ):
        require(Engine(url))


def test_a_run_whose_engine_does_not_answer_says_so_before_it_starts():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

        with pytest.raises(LocalRunError, match=f"{url} does not answer.*start the engine first"):
            LocalRun.start(dynamodb=url)
