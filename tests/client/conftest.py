"""The API on a loopback port: the deployed handlers over a tracker in memory, and faults on the way."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import pytest

from fanin import Fanin, Options
from fanin.client.batch import Batch
from fanin.client.queues.handing_queue import HandingQueue
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.http import HttpTransport
from fanin.grouper import Grouper, World
from fanin.grouper.memory import MemoryStore as GroupStore
from fanin.queue import MemoryDoorbell, OutboxEntry, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore as QueueStore
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from functions.wiring import deployed, grouping, tracking
from tests.api.gateway import Gateway

TENANT = "t"


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    peer: object = None

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Fault = Callable[[Callable[[], Reply]], Reply | None]
"""Handles a request in place of the service; None cuts the connection without an answer."""


def lost_before(serve: Callable[[], Reply]) -> None:
    """The request never arrives."""


def lost_after(serve: Callable[[], Reply]) -> None:
    """The request is carried out, and its answer lost."""
    serve()


def answers(status: int, body: bytes = b"{}", **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda serve: Reply(status, body, named)


def served(serve: Callable[[], Reply]) -> Reply:
    return serve()


@dataclass
class Service:
    """An API whose next requests meet *faults*, one each; afterwards all goes well."""

    url: str = ""
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    gateway: Gateway = field(default_factory=Gateway)

    def reply(self, request: Seen) -> Reply | None:
        with self.lock:
            self.seen.append(request)
            fault = self.faults.popleft() if self.faults else served
            return fault(lambda: self._serve(request))

    def _serve(self, request: Seen) -> Reply:
        path, _, query = request.path.partition("?")
        body, asked = request.body.decode(), dict(parse_qsl(query)) or None
        answer = self.gateway.send(request.method, path, body, request.headers, asked)
        return Reply(answer.status, answer.text.encode(), answer.headers)

    @property
    def keys(self) -> list[str | None]:
        return [request.key for request in self.seen]


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _any(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            reply = service.reply(Seen(self.command, self.path, headers, body, self.client_address))
            if reply is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815  # names of the standard library

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    return Handler


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Tracker:
    """A tracker in memory, of four items a page; the handlers use it too."""
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=timedelta(0), pause=lambda _: None)
    for name in ("FANIN_BATCHES_TABLE", "FANIN_PAGES_TABLE"):
        monkeypatch.setenv(name, "unused")
    monkeypatch.setenv("FANIN_TENANT", TENANT)
    monkeypatch.setenv("FANIN_ALLOW_ANONYMOUS", "true")
    monkeypatch.setenv("FANIN_SETTINGS", "{}")
    tracking.settings.cache_clear()
    deployed.settings_file.cache_clear()
    monkeypatch.setattr(tracking, "tracker", lambda: tracker)
    return tracker


@pytest.fixture
def service(tracker: Tracker) -> Iterator[Service]:
    served_here = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served_here))
    server.daemon_threads = True
    served_here.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield served_here
    server.shutdown()
    server.server_close()
    thread.join()
    tracking.settings.cache_clear()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def over_http(service: Service, pauses: list[float]) -> Fanin:
    return Fanin(HttpTransport(service.url, pause=pauses.append))


@pytest.fixture(params=["direct", "http"])
def fanin(request: pytest.FixtureRequest, tracker: Tracker) -> Fanin:
    """The client over each transport."""
    if request.param == "direct":
        return Fanin(DirectTransport(tracker, TENANT))
    client: Fanin = request.getfixturevalue("over_http")
    return client


@pytest.fixture
def batch(fanin: Fanin) -> Batch:
    """An open batch of three items."""
    opened = fanin.open()
    opened.items = opened.add(3)  # type: ignore[attr-defined]
    return opened


@pytest.fixture
def parent(fanin: Fanin) -> Batch:
    """A closed batch of one item."""
    with fanin.open("parent") as batch:
        batch.items = batch.add(1)  # type: ignore[attr-defined]
    return batch


class Discarding:
    """An outbox that sends nothing."""

    def send(self, postings: object) -> None:
        """Nothing."""


@pytest.fixture
def grouper(monkeypatch: pytest.MonkeyPatch, tracker: Tracker) -> Grouper:
    """The group-batcher of the API, in memory."""
    grouper = Grouper(World(GroupStore(), Discarding()))
    monkeypatch.setattr(grouping, "grouper", lambda: grouper)
    monkeypatch.setattr(grouping, "registering", lambda: grouper)
    return grouper


def work_queue(report: Callable[[OutboxEntry], object]) -> HandingQueue:
    """A work queue in memory whose ends of jobs go to *report*."""
    options = Options(parts=1)
    context = QueueContext(QueueStore(), MemoryDoorbell(), QueueKey(TENANT, "q"), options, report=report)
    return HandingQueue(context, background=lambda _: lambda: None)


def sqs_event(*bodies: str | dict[str, Any], times: int | None = None) -> dict[str, Any]:
    """A delivery of messages ``m0``, ``m1``... with the *bodies*; *times*: how often each was received."""
    texts = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    facts = {} if times is None else {"attributes": {"ApproximateReceiveCount": str(times)}}
    return {"Records": [{"messageId": f"m{n}", "body": text, **facts} for n, text in enumerate(texts)]}
