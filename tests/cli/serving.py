"""The API on a loopback port: the deployed handlers over a store in memory, for commands and processes."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.api.gateway import Answer, Gateway

PROBLEM = {"content-type": "application/problem+json"}


@dataclass
class Served:
    """A context manager. *faults*: answers in place of the next ones; *asked*: the requests so far."""

    gateway: Gateway
    faults: list[Answer | Callable[[], Answer]] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # the stores in memory are not for threads
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a command that is stopped leaves its connection
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """Return the answer to a request, or the next fault."""
        parts = urlsplit(target)
        self.asked.append((method, target, headers))
        if self.faults:
            fault = self.faults.pop(0)
            return fault() if callable(fault) else fault
        query = dict(parse_qsl(parts.query, keep_blank_values=True)) or None
        with self._lock, redirect_stdout(io.StringIO()):  # the metrics of a function are its output
            return self.gateway.send(method, parts.path, body.decode() or None, headers, query)

    def posts(self, path: str) -> int:
        """Return how often *path* was posted to."""
        return sum(method == "POST" and urlsplit(target).path == path for method, target, _ in self.asked)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def refusal(status: int, detail: str = "the detail") -> Answer:
    """Return a problem document, as the API or its gateway answers."""
    return Answer(status, PROBLEM, f'{{"detail": "{detail}"}}')


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = served.answer(self.command, self.path, headers, self.rfile.read(size))
            data = answer.text.encode()
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815  # names of the standard library

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler
