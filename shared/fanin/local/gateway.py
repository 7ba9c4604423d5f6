"""The API on a port of its own: what API Gateway's front does before the emulator's API Gateway sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fanin.local.connection import ACCOUNT, REGION

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# The emulator reads who signed and checks no signature; an account's own id stands for its root.
ANYONE = (
    f"AWS4-HMAC-SHA256 Credential={ACCOUNT}/20000101/{REGION}/execute-api/aws4_request, "
    "SignedHeaders=host, Signature=0"
).encode()
NOT_YET = b'{"message":"Service Unavailable"}'


class Gateway:
    """An ASGI application around the emulator's: requests to *port* go to the deployed API, others pass.

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
    """*scope* as the emulator serves the ``$default`` stage of *api_id*; who did not sign is the account."""
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
