"""The API on a port of its own: requests are mapped to the path of the API on the emulator's port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fanin.local.emulation.connection import ACCOUNT, REGION

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# The emulator reads the caller from the signature and does not verify it; an account id is its root user.
ANYONE = (
    f"AWS4-HMAC-SHA256 Credential={ACCOUNT}/20000101/{REGION}/execute-api/aws4_request, "
    "SignedHeaders=host, Signature=0"
).encode()
NOT_YET = b'{"message":"Service Unavailable"}'


class Gateway:
    """An ASGI application that sends requests on *port* to the deployed API and others to the emulator.

    Until ``api_id`` is set, the API's port answers 503.
    """

    def __init__(self, emulator: App, port: int) -> None:
        self.emulator = emulator
        self.port = port
        self.api_id = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["server"][1] != self.port:
            await self.emulator(scope, receive, send)
        elif self.api_id:
            await self.emulator(to_api(scope, self.api_id), receive, send)
        else:
            await _not_yet(send)


def to_api(scope: Scope, api_id: str) -> Scope:
    """Return *scope* for the ``$default`` stage of *api_id*; an unsigned request is signed by the account."""
    prefix = f"/_aws/execute-api/{api_id}/$default"
    headers = list(scope["headers"])
    if not any(name.lower() == b"authorization" for name, _ in headers):
        headers.append((b"authorization", ANYONE))
    raw_path = prefix.encode() + scope["raw_path"]
    return {**scope, "path": prefix + scope["path"], "raw_path": raw_path, "headers": headers}


async def _not_yet(send: Send) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": NOT_YET})
