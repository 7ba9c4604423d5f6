"""What comes to the ports of a local run: the API has one of its own, and only loopback is answered.

Requests of web pages are refused: the handlers run as the user, and a browser can reach loopback.

A page can send a request to a port on loopback in three ways, which differ in their headers:

* The page's host name resolves to 127.0.0.1 (DNS rebinding): ``Host`` is that name.
* A script or a form sends a request to 127.0.0.1: ``Origin`` is the page's origin.
* An image, a link or a redirect names a URL on 127.0.0.1: a GET without ``Origin``, for which every
  current browser sets ``Sec-Fetch-Site: cross-site``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import AddressValueError, IPv4Address
from typing import Any

from fanin.errors import PROBLEM, Refusal
from fanin.local.emulator_process.connection import ACCOUNT, REGION

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


Headers = Iterable[tuple[bytes, bytes]]

# A name with its port. An IPv6 address is in brackets; a trailing dot is the root of the DNS.
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:/@?#\s]+?)\.?(?::\d{0,5})?")
ORIGIN = re.compile(r"https?://(?P<host>[^/]+)")


MISDIRECTED = Refusal(
    421,
    "misdirected-request",
    "The local run answers loopback names only",
    "Host must be localhost, a name under .localhost, [::1] or an address of 127.0.0.0/8",
)
FOREIGN = Refusal(
    403,
    "foreign-origin",
    "The local run answers no web pages of other sites",
    "Origin must be a loopback address; where there is none, Sec-Fetch-Site must not be cross-site",
)


def is_loopback(host: str) -> bool:
    """Return whether *host*, the value of a Host header, always resolves to loopback."""
    found = HOST.fullmatch(host.lower())
    if found is None:
        return False
    name = found["name"]
    if name in {"localhost", "[::1]"} or name.endswith(".localhost"):
        return True
    try:
        return IPv4Address(name).is_loopback
    except AddressValueError:
        return False


def refusal(headers: Headers) -> Refusal | None:
    """Return why a request with *headers* is refused, or None if it is accepted.

    A request without Host is refused too: only HTTP/1.0 allows it, and no client of the local run sends one.
    """
    hosts, origins, sites = (_values(headers, name) for name in (b"host", b"origin", b"sec-fetch-site"))
    if len(hosts) != 1 or not is_loopback(hosts[0]):
        return MISDIRECTED
    if origins:
        return None if all(map(_is_loopback_origin, origins)) else FOREIGN
    return FOREIGN if "cross-site" in sites else None


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for known, value in headers if known.lower() == name]


def _is_loopback_origin(origin: str) -> bool:
    """Return whether *origin* is a loopback URL; ``null``, of sandboxed frames and files, is not."""
    found = ORIGIN.fullmatch(origin.lower())
    return found is not None and is_loopback(found["host"])


class LoopbackOnly:
    """An ASGI application around *app* that refuses requests that a web page may have sent."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = refusal(scope["headers"]) if scope["type"] in {"http", "websocket"} else None
        if refused is None:
            await self.app(scope, receive, send)
        else:
            await _refuse(refused, "websocket.http" if scope["type"] == "websocket" else "http", send)


async def _refuse(refused: Refusal, protocol: str, send: Send) -> None:
    body = refused.document()
    headers = [
        (b"content-type", PROBLEM.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    start = {"type": f"{protocol}.response.start", "status": refused.status, "headers": headers}
    await send(start)
    await send({"type": f"{protocol}.response.body", "body": body})
