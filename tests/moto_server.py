"""DynamoDB as moto plays it, behind a URL on loopback: a free engine for ``--dynamodb`` and ``--endpoint``.

``python -m tests.moto_server [--no-streams] [--port N]`` prints its URL, and serves until its standard input
ends. ``--no-streams`` makes it an engine that ignores the streams of its tables.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HOSTS = {
    True: "https://streams.dynamodb.us-east-1.amazonaws.com/",
    False: "https://dynamodb.us-east-1.amazonaws.com/",
}
"""Where moto answers; nothing is sent there."""
KEPT = ("x-amz-target", "authorization", "content-type")


@contextmanager
def moto_server(*options: str) -> Iterator[str]:
    """Yield the URL of a server of its own."""
    command = [sys.executable, "-m", "tests.moto_server", *options]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def serve(port: int = 0, has_streams: bool = True, ended: Callable[[], object] = signal.pause) -> None:
    """Print the URL, and serve until *ended* returns."""
    import requests  # moto answers these within mock_aws
    from moto import mock_aws

    from tests.contract.tables import deep_recursion

    # moto reads, checks and changes without a lock.
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            target = self.headers.get("x-amz-target", "")
            kept = {name: self.headers.get(name, "") for name in KEPT}
            with lock:
                url = HOSTS["Streams" in target]
                answer = requests.post(
                    url, body if has_streams else _without_stream(target, body), headers=kept, timeout=60
                )
            self.send_response(answer.status_code)
            self.send_header("content-type", "application/x-amz-json-1.0")
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with mock_aws(), deep_recursion(), ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        ended()


def _without_stream(target: str, body: bytes) -> bytes:
    if not target.endswith((".CreateTable", ".UpdateTable")):
        return body
    request = json.loads(body)
    request.pop("StreamSpecification", None)
    return json.dumps(request).encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.moto_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--no-streams", action="store_true")
    given = parser.parse_args()
    serve(given.port, not given.no_streams, sys.stdin.read)
