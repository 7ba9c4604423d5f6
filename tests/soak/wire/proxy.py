"""A proxy on loopback in front of the emulator, which does to a request what its plan says."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

from tests.soak.wire import answers
from tests.soak.wire.kinds import SHARES, Kind, Planned, planned

LATE_SECONDS = 2.0
STALL_SECONDS = 6.0
"""Longer than the read timeout of fanin's clients."""
SLOW_PAUSE, SLOW_PARTS = 0.03, 10
HOPS = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"})
SERVICES = {"AmazonSQS": "sqs", "AWSEvents": "events"}


@dataclass(frozen=True)
class Sent:
    """A request as it came, with its *service* and *operation*."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def target(self) -> str:
        return self.headers.get("X-Amz-Target", "")

    @property
    def operation(self) -> str:
        return self.target.rpartition(".")[2]

    @property
    def service(self) -> str:
        name = self.target.partition(".")[0]
        if not name:
            return "s3"  # the one service of the run that names its operation by the path
        return "dynamodb" if name.startswith("DynamoDB") else SERVICES.get(name, "other")

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(frozen=True)
class Reply:
    """An answer; *status* 0: none, the connection is reset."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    slow: bool = False


LOST = Reply(0)


@dataclass
class FaultProxy:
    """Forwards to *endpoint*; a context manager. ``faults`` counts what was done, by kind and operation.

    Nothing is done while ``calm`` is set. The decisions follow from *seed* and the number of a request.
    """

    endpoint: str
    seed: int
    shares: Sequence[float] = SHARES
    calm: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _timers: list[threading.Timer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._plan: Iterator[Planned] = planned(self.seed, self.shares)
        self._pool = urllib3.PoolManager(maxsize=64, retries=False, timeout=60)
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FaultProxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for timer in self._timers:
            timer.cancel()

    def injected(self) -> Counter[str]:
        """Return the number of faults by kind."""
        totals: Counter[str] = Counter()
        for (kind, _), count in list(self.faults.items()):
            totals[kind] += count
        return totals

    def answer(self, sent: Sent) -> Reply:
        """Return what the client gets for *sent*, after what the plan does to it."""
        kind = self._drawn(sent)
        if kind is None:
            return self._forwarded(sent)
        reply: Reply = getattr(self, f"_{kind.name.lower()}")(sent)
        return reply

    def _drawn(self, sent: Sent) -> Kind | None:
        with self._lock:
            self.requests += 1
            kind = None if self.calm.is_set() else next(self._plan).kind(sent.operation)
            if (
                kind is Kind.ONE_ITEM
                and "Limit" in sent.document()
                and "ExclusiveStartKey" in sent.document()
            ):
                kind = None
            if kind is not None:
                self.faults[kind.value, sent.operation or sent.method] += 1
            return kind

    def _forwarded(self, sent: Sent, body: bytes | None = None) -> Reply:
        headers = {name: value for name, value in sent.headers.items() if name.lower() != "content-length"}
        data = sent.body if body is None else body
        found = self._pool.request(sent.method, self.endpoint + sent.path, body=data, headers=headers)
        kept = {name: value for name, value in found.headers.items() if name.lower() not in HOPS}
        # botocore compares the checksum of an answer; one that is made up has none.
        return Reply(found.status, found.data, kept)

    def _reply(self, answer: tuple[int, bytes]) -> Reply:
        return Reply(*answer, {"Content-Type": "application/x-amz-json-1.0"})

    def _drop_before(self, _sent: Sent) -> Reply:
        return LOST

    def _drop_after(self, sent: Sent) -> Reply:
        self._forwarded(sent)
        return LOST

    def _error_after(self, sent: Sent) -> Reply:
        self._forwarded(sent)
        return self._reply(answers.failed())

    def _copy_later(self, sent: Sent) -> None:
        timer = threading.Timer(LATE_SECONDS, self._quietly, (sent,))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _quietly(self, sent: Sent) -> None:
        try:
            self._forwarded(sent)
        except urllib3.exceptions.HTTPError:
            return  # the run has ended

    def _late(self, sent: Sent) -> Reply:
        self._copy_later(sent)
        return LOST

    def _again(self, sent: Sent) -> Reply:
        self._copy_later(sent)
        return self._forwarded(sent)

    def _throttle(self, sent: Sent) -> Reply:
        return self._reply(answers.throttled(sent.service))

    def _conflict(self, sent: Sent) -> Reply:
        return self._reply(answers.conflicted(sent.operation, sent.document()))

    def _partial(self, sent: Sent) -> Reply:
        first, second = answers.halved(sent.operation, sent.document())
        answer = {}
        if not answers.is_empty(sent.operation, first):
            reply = self._forwarded(sent, json.dumps(first).encode())
            if reply.status != 200:
                return reply
            answer = json.loads(reply.body)
        return self._reply((200, answers.in_part(sent.operation, answer, second)))

    def _one_item(self, sent: Sent) -> Reply:
        return self._forwarded(sent, answers.one_item(sent.document()))

    def _slow(self, sent: Sent) -> Reply:
        reply = self._forwarded(sent)
        return Reply(reply.status, reply.body, reply.headers, slow=True)

    def _stall(self, sent: Sent) -> Reply:
        reply = self._forwarded(sent)
        time.sleep(STALL_SECONDS)
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that has stopped waiting is no error."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection as *faults* says."""

    faults: FaultProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.faults.answer(Sent(self.command, self.path, dict(self.headers), body))
        if not reply.status:
            self._reset()
            return
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self._write(reply)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815  # as http.server names them

    def _write(self, reply: Reply) -> None:
        parts = SLOW_PARTS if reply.slow else 1
        size = max(1, -(-len(reply.body) // parts))
        for first in range(0, len(reply.body), size):
            self.wfile.write(reply.body[first : first + size])
            self.wfile.flush()
            if reply.slow:
                time.sleep(SLOW_PAUSE)

    def _reset(self) -> None:
        """Close the connection as a crashed host does: with RST, and no answer."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        faults = proxy

    return Handler
