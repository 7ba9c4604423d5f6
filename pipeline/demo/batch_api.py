"""A batch API on 127.0.0.1 that keeps book of its calls; what it answers is up to a judge."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

DONE = 200


@dataclass(frozen=True, slots=True)
class Request:
    """A call as it came: *tasks* are the payloads by task id."""

    bundle: str
    target: str
    attempt: int
    tasks: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a call: of a *status* of 200 all tasks but the *rejected* are done.

    *again*: they were done before. *lost*: the work is done, and nobody is told. *retry_after*: in seconds.
    """

    status: int
    rejected: Collection[str] = ()
    again: bool = False
    lost: bool = False
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was answered."""

    request: Request
    ruling: Ruling

    @property
    def succeeded(self) -> Mapping[str, Any]:
        """The tasks that this call did, by their ids."""
        if self.ruling.status != DONE or self.ruling.again:
            return {}
        rejected = self.ruling.rejected
        return {name: payload for name, payload in self.request.tasks.items() if name not in rejected}


class Judge(Protocol):
    """Decides on calls, of which several may come at once."""

    def judge(self, request: Request) -> Ruling: ...


@dataclass
class BatchApi:
    """The server, as a context; *calls* are those it took, in order."""

    judge: Judge
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _serving(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where bundles are POSTed to."""
        return f"http://127.0.0.1:{self._server.server_port}/batch"

    def take(self, body: Mapping[str, Any], key: str) -> Ruling:
        """Decide on a call, and enter it into the book; ValueError where it is not of the form."""
        if key != body["bundleId"]:
            raise ValueError(f"the idempotency key is {key}, not the bundle's id")
        tasks = {task["taskId"]: task["payload"] for task in body["tasks"]}
        request = Request(key, body["target"], body["attempt"], tasks)
        ruling = self.judge.judge(request)
        with self._lock:
            self.calls.append(Call(request, ruling))
        return ruling

    def book(self) -> list[Call]:
        """The calls so far."""
        with self._lock:
            return list(self.calls)

    def successes(self) -> Counter[str]:
        """How many calls did each task."""
        return Counter(name for call in self.book() for name in call.succeeded)


def _serving(api: BatchApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            ruling = api.take(body, self.headers["Idempotency-Key"])
            # Whoever never hears an answer finds the connection closed.
            self.close_connection = ruling.lost
            if not ruling.lost:
                self._answer(ruling)

        def _answer(self, ruling: Ruling) -> None:
            said = json.dumps(_document(ruling)).encode()
            self.send_response(ruling.status)
            if ruling.retry_after is not None:
                self.send_header("Retry-After", str(ruling.retry_after))
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Nothing: the book is the log."""

    return Handler


def _document(ruling: Ruling) -> dict[str, Any]:
    """The body of an answer, as ``fanin.grouper.http`` reads it."""
    if ruling.status != DONE:
        return {}
    rejected = ({"taskId": name, "outcome": "fail", "detail": "rejected"} for name in sorted(ruling.rejected))
    return {"results": list(rejected)}
