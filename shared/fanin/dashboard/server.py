"""The HTTP server of the dashboard: on 127.0.0.1, for one browser, with bounded requests."""

from __future__ import annotations

import json
import logging
import re
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, cast

from fanin.dashboard.problems import (
    BODY_TOO_LARGE,
    NO_LENGTH,
    NO_METHOD,
    NOT_FOUND,
    NOT_OPENED,
    TOO_MANY_STREAMS,
    dashboard_refusal,
)
from fanin.dashboard.request_checks import FOLLOWED, Door, Request
from fanin.dashboard.streams import MEDIA_TYPE, QUERY, Streams, events_of, has_reader
from fanin.dashboard.upstream import JSON, Answer, Upstream
from fanin.errors import Refusal

LOOPBACK = "127.0.0.1"
BODY_MAX = 4096
DRAINED = 64 * 1024
"""How much of a refused body is read."""
REQUEST_SECONDS = 10
"""The longest wait for the next bytes of a request."""
CONNECTIONS = 64
"""Connections at one time; a further one is closed after a second."""
LOOK_SECONDS = 0.05
"""How often the server looks whether it is to end."""
MEDIA = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
log = logging.getLogger(__name__)

Events = Callable[[], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Site:
    """What is served: the files of the page, the API, and the events of a local run if there is one."""

    files: Mapping[str, Answer]
    api: Upstream
    facts: bytes
    events: Events | None


class Dashboard(ThreadingHTTPServer):
    """A running dashboard; ``address`` opens it once. ``close`` ends it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, site: Site, port: int, allow_writes: bool) -> None:
        super().__init__((LOOPBACK, port), Handler)
        self.site = site
        self.door = Door(self.server_address[1], allow_writes)
        self.streams = Streams()
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        self._thread = threading.Thread(target=self.serve_forever, args=(LOOK_SECONDS,), daemon=True)

    @property
    def address(self) -> str:
        """The address that opens the dashboard, once."""
        return self.door.address

    def server_bind(self) -> None:
        """Bind, without the look-up of the host's name that HTTPServer does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def serve(self) -> None:
        """Serve in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving and free the port."""
        self.shutdown()
        self._thread.join()
        self.streams.close()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or close it if there are too many."""
        if self._slots.acquire(timeout=1.0):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, which is one request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log that a request failed, without what was in it."""
        log.warning("a request of the page failed: %s", sys.exception().__class__.__name__)


class Handler(BaseHTTPRequestHandler):
    """Serves one request; HTTP/1.0, so that no connection waits for a second one."""

    timeout = REQUEST_SECONDS
    server_version = "fanin"
    sys_version = ""

    def answer(self) -> None:
        """Answer the request that was read."""
        path, _, query = self.path.partition("?")
        headers = {name.lower(): self.headers.get_all(name, []) for name in self.headers}
        request = Request(self.command, path, query, headers)
        body = self._body(request)
        refused = self._door.refusal_before_opening(request)
        if refused is not None:
            self._say(Answer.of(refused), {"Allow": "GET, POST" if self._door.allow_writes else "GET"})
        elif request.method == "GET" and request.path == "/" and request.query:
            self._open(request)
        else:
            refused = self._door.refusal(request)
            followed = FOLLOWED.fullmatch(request.path)
            if followed and not refused:
                self._stream(followed[1])
            else:
                self._say(self._refused(request, refused) if refused else self._answered(request, body))

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer  # noqa: N815

    def _open(self, request: Request) -> None:
        """Exchange the token for the cookie; an address without query then replaces it in the history."""
        if self._door.opens(request):
            self._say(Answer(303, b"", "text/plain"), {"Location": "/", "Set-Cookie": self._door.cookie})
        elif self._door.is_open_for(request):
            self._say(Answer(303, b"", "text/plain"), {"Location": "/"})
        else:
            self._say(self._refused(request, NOT_OPENED))

    def _refused(self, request: Request, refused: Refusal) -> Answer:
        """Return the refusal; to a browser at the page's address, a page that says how to sign in."""
        is_browser = any("text/html" in accepted for accepted in request.values("accept"))
        if refused is not NOT_OPENED or request.path != "/" or not is_browser:
            return Answer.of(refused)
        return replace(self._site.files["/signin.html"], status=refused.status)

    def _answered(self, request: Request, body: bytes | Refusal) -> Answer:
        if request.method == "POST":
            return Answer.of(body) if isinstance(body, Refusal) else self._written(request, body)
        if request.path.startswith("/v1/"):
            return self._site.api.send("GET", request.path, request.query)
        if request.path == "/facts":
            return Answer(200, self._site.facts, JSON)
        if request.path == "/events" and self._site.events is not None:
            return Answer(200, json.dumps({"events": list(self._site.events())}).encode(), JSON)
        return self._site.files.get(request.path, Answer.of(NOT_FOUND))

    def _stream(self, batch_id: str) -> None:
        """Answer with the events of a batch; the first look is refused as any other request."""
        look = partial(self._site.api.send, "GET", f"/v1/batches/{batch_id}", QUERY)
        with cast(Dashboard, self.server).streams.held_by(self.connection) as has_place:
            found = look() if has_place else Answer.of(TOO_MANY_STREAMS)
            if found.status != 200:
                self._say(found)
                return
            self._head(200, {"Content-Type": MEDIA_TYPE})
            with suppress(OSError):  # the reader is gone
                self.end_headers()
                for event in events_of(found, look, partial(has_reader, self.connection)):
                    self.wfile.write(event)

    def _body(self, request: Request) -> bytes | Refusal:
        """Return the body of a write, or why it has none; read it also where it is too large for an answer.

        A connection that is closed with unread bytes is reset, and the answer may be lost.
        """
        if request.method == "GET":
            return b""
        length = request.values("content-length")
        if (
            len(length) != 1
            or not re.fullmatch("[0-9]{1,9}", length[0])
            or request.values("transfer-encoding")
        ):
            return NO_LENGTH
        body = self.rfile.read(min(int(length[0]), DRAINED))
        return body if int(length[0]) <= BODY_MAX else BODY_TOO_LARGE

    def _written(self, request: Request, body: bytes) -> Answer:
        """Pass on a write, with the page's idempotency key, so that its repetition changes nothing more."""
        headers = {"Content-Type": JSON}
        for key in request.values("idempotency-key"):
            headers["Idempotency-Key"] = key[:128]
        return self._site.api.send("POST", request.path, body=body, headers=headers)

    def _say(self, answer: Answer, headers: Mapping[str, str] | None = None) -> None:
        length = {"Content-Type": answer.media, "Content-Length": str(len(answer.body))}
        self._head(answer.status, {**(headers or {}), **length})
        with suppress(ConnectionError):  # the tab was closed
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else answer.body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **headers}.items():
            self.send_header(name, value)

    def send_error(self, code: int, *_: object) -> None:
        """Answer a malformed request as any other."""
        refused = (
            NO_METHOD
            if code == 501
            else dashboard_refusal(code, "malformed", "The request is malformed", "see RFC 9112")
        )
        self.command = self.command or "GET"
        self._say(Answer.of(refused))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request line of the first request has the token."""

    @property
    def _door(self) -> Door:
        return cast(Dashboard, self.server).door

    @property
    def _site(self) -> Site:
        return cast(Dashboard, self.server).site


def start(
    api: Upstream, *, name: str = "", port: int = 0, allow_writes: bool = False, events: Events | None = None
) -> Dashboard:
    """Serve the dashboard of *api* on *port* (0: a free one) and return it.

    *name*: what the page shows of where the API is; *events*: returns the last events of a local run.
    """
    facts = {"name": name, "api": api.host, "allowWrites": allow_writes, "hasEvents": events is not None}
    dashboard = Dashboard(Site(page(), api, json.dumps(facts).encode(), events), port, allow_writes)
    dashboard.serve()
    return dashboard


def page() -> dict[str, Answer]:
    """Return the files of the page by their paths; they are read once."""
    files = dict(_files_in(resources.files("fanin.dashboard").joinpath("page"), "/"))
    files["/"] = files.pop("/index.html")
    return files


def _files_in(folder: Traversable, path: str) -> Iterator[tuple[str, Answer]]:
    for entry in folder.iterdir():
        media = MEDIA.get(entry.name.rpartition(".")[2])
        if entry.is_dir():
            yield from _files_in(entry, f"{path}{entry.name}/")
        elif media:
            yield path + entry.name, Answer(200, entry.read_bytes(), f"{media}; charset=utf-8")
