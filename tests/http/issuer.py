"""An issuer of JWTs on a loopback port, with one key of its own."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "fanin"
KEY_ID = "the-key"


class Issuer:
    """A context manager; ``url`` is the issuer's name, and where its keys are."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(json.dumps(self._keys()).encode()))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def token(self, **claims: Any) -> str:
        """A signed token for an hour, with *claims*."""
        standard = {"iss": self.url, "aud": AUDIENCE, "exp": int(time.time()) + 3600}
        header = {"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}
        signed = ".".join(_base64(json.dumps(part).encode()) for part in (header, standard | claims))
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def _keys(self) -> dict[str, Any]:
        numbers = self.key.public_key().public_numbers()
        parts = {"n": numbers.n, "e": numbers.e}
        key = {name: _base64(part.to_bytes((part.bit_length() + 7) // 8)) for name, part in parts.items()}
        return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, **key}]}

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _handler(keys: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/.well-known/jwks.json"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(keys if found else b"")

        def log_message(self, *_: Any) -> None:
            """Nothing: tests read the standard error of others."""

    return Handler
