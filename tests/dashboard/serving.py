"""The API on a port: the deployed handlers over a store in memory, and answers of a test in their place."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.api.gateway import Gateway
from tests.api.published import checked

JSON, PROBLEM = "application/json", "application/problem+json"
Body = dict[str, Any] | Callable[[dict[str, str]], dict[str, Any]]


@dataclass
class Api:
    """*instead*: pattern of a path -> (status, body) in place of the handler's; *log*: what was asked."""

    gateway: Gateway
    instead: dict[str, tuple[int, Body]] = field(default_factory=dict)
    log: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    queries: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, pattern: str = ".*") -> int:
        """How many requests went to a path."""
        return sum(1 for _, path, _ in self.log if re.fullmatch(pattern, path))

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], str]:
        asked = urlsplit(target)
        query = dict(parse_qsl(asked.query))
        with self.lock:
            self.log.append((method, asked.path, headers))
            self.queries.append((method, asked.path, query))
            for pattern, (status, answer_of) in self.instead.items():
                if re.fullmatch(pattern, asked.path) or re.fullmatch(pattern, target):
                    return self._put(
                        method, asked.path, status, answer_of(query) if callable(answer_of) else answer_of
                    )
            got = self.gateway.send(method, asked.path, body.decode() or None, headers, query or None)
        return got.status, {"Content-Type": JSON} | got.headers, got.text

    def _put(
        self, method: str, path: str, status: int, body: dict[str, Any]
    ) -> tuple[int, dict[str, str], str]:
        text, media = json.dumps(body), JSON if status < 300 or "type" not in body else PROBLEM
        if "message" not in body:  # else it is the gateway that answers
            checked(method, path, status, {"Content-Type": media}, text)
        return status, {"Content-Type": media}, text


class Served(ThreadingHTTPServer):
    """*api* on a free port of loopback."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, api: Api, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.api = api
        api.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, sent, text = self.server.api.answer(self.command, self.path, headers, body)
        self.send_response(status)
        for name, value in sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass
