"""An AWS endpoint that answers each request with an empty document, and takes none of the caller's CPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Empty(BaseHTTPRequestHandler):
    """Answers ``{}``."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read the request, and answer it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def stub() -> Iterator[str]:
    """Serve until the end of the block; yields the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
