"""A batch API on 127.0.0.1 that records its calls; a judge decides the answers."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

SUCCESS_STATUS = 200
POLL_SECONDS = 0.05
"""Between looks of the server at whether it is to end."""


@dataclass(frozen=True, slots=True)
class Request:
    """A received call; *tasks*: payloads by task id."""

    bundle: str
    target: str
    attempt: int
    tasks: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """The judge's decision on a call; with *status* 200, all tasks but the *rejected* are done.

    *again*: they were done before. *lost*: the tasks are done, and the answer is dropped. *retry_after*: in
    seconds.
    """

    status: int
    rejected: Collection[str] = ()
    again: bool = False
    lost: bool = False
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call and its answer."""

    request: Request
    ruling: Ruling

    @property
    def succeeded(self) -> Mapping[str, Any]:
        """Return the ids of the tasks that this call did."""
        if self.ruling.status != SUCCESS_STATUS or self.ruling.again:
            return {}
        rejected = self.ruling.rejected
        return {name: payload for name, payload in self.request.tasks.items() if name not in rejected}


class Judge(Protocol):
    """Decides on calls, which may be concurrent."""

    def judge(self, request: Request) -> Ruling: ...


@dataclass
class BatchApi:
    """The server, as a context manager; *calls*: those it received, in order."""

    judge: Judge
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _serving(self))
        threading.Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Return the URL that bundles are POSTed to."""
        return f"http://127.0.0.1:{self._server.server_port}/batch"

    def take(self, body: Mapping[str, Any], key: str) -> Ruling:
        """Decide on a call, and record it. Raises ValueError if it is malformed."""
        if key != body["bundleId"]:
            raise ValueError(f"the idempotency key is {key}, not the bundle's id")
        tasks = {task["taskId"]: task["payload"] for task in body["tasks"]}
        request = Request(key, body["target"], body["attempt"], tasks)
        ruling = self.judge.judge(request)
        with self._lock:
            self.calls.append(Call(request, ruling))
        return ruling

    def book(self) -> list[Call]:
        """Return the calls so far."""
        with self._lock:
            return list(self.calls)

    def successes(self) -> Counter[str]:
        """Return the number of calls that did each task."""
        return Counter(name for call in self.book() for name in call.succeeded)


def _serving(api: BatchApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            ruling = api.take(body, self.headers["Idempotency-Key"])
            # A lost answer: close the connection without one.
            self.close_connection = ruling.lost
            if not ruling.lost:
                self._answer(ruling)

        def _answer(self, ruling: Ruling) -> None:
            body = json.dumps(_document(ruling)).encode()
            self.send_response(ruling.status)
            if ruling.retry_after is not None:
                self.send_header("Retry-After", str(ruling.retry_after))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: the calls are recorded."""

    return Handler


def _document(ruling: Ruling) -> dict[str, Any]:
    """Return the body of an answer, in the form that ``fanin.grouper.batch_api_calls.http`` reads."""
    if ruling.status != SUCCESS_STATUS:
        return {}
    rejected = ({"taskId": name, "outcome": "fail", "detail": "rejected"} for name in sorted(ruling.rejected))
    return {"results": list(rejected)}
