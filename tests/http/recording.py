"""A server that keeps what it was sent, and the check of AWS signatures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AUTHORIZATION = r"AWS4-HMAC-SHA256 Credential=(\S+?)/(\S+), ?SignedHeaders=(\S+), ?Signature=(\w+)"


class Service(ThreadingHTTPServer):
    """Answers each request with the next of *script*, (status, headers, body), and keeps what it was sent."""

    def __init__(self, script: list[tuple[int, dict[str, str], Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.seen = script, list[AWSRequest]()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Service:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = AWSRequest(method=self.command, url=self.server.url + self.path, headers=headers, data=body)
        self.server.seen.append(sent)
        status, headers, answer = self.server.script.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_POST = do_GET  # noqa: N815 - the server looks for this name

    def log_message(self, *_: object) -> None:
        pass


def is_signed(sent: AWSRequest, credentials: Mapping[str, str]) -> bool:
    """Whether *sent* has the signature that botocore computes with *credentials*, by their variables."""
    found = re.fullmatch(AUTHORIZATION, sent.headers["authorization"])
    assert found
    key, scope, names, signature = found.groups()
    signed = names.split(";")
    token = credentials.get("AWS_SESSION_TOKEN")
    assert {"host", "x-amz-date"} <= set(signed)
    assert (sent.headers.get("x-amz-security-token"), "x-amz-security-token" in signed) == (
        token,
        bool(token),
    )
    _, region, service, _ = scope.split("/")
    again = AWSRequest(method=sent.method, url=sent.url, data=sent.data)
    for name in signed:
        again.headers[name] = sent.headers[name]
    again.context["timestamp"] = sent.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(key, credentials["AWS_SECRET_ACCESS_KEY"], token), service, region)
    text = signer.string_to_sign(again, signer.canonical_request(again))
    computed: str = signer.signature(text, again)
    return (service, computed) == ("execute-api", signature)
