from __future__ import annotations

import asyncio
from typing import Any

from fanin.local.emulator_process.gateway import Gateway, to_api

PORT = 8787


def scope(port: int = PORT, headers: list[tuple[bytes, bytes]] | None = None) -> dict[str, Any]:
    return {
        "type": "http",
        "server": ("127.0.0.1", port),
        "path": "/v1/batches/a b",
        "raw_path": b"/v1/batches/a%20b",
        "headers": headers or [],
    }


class Emulator:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, scope, receive, send) -> None:
        self.asked.append(scope)


def ask(gateway: Gateway, given: dict[str, Any]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b""}

    asyncio.run(gateway(given, receive, send))
    return sent


def test_until_the_api_is_deployed_its_port_is_unavailable():
    emulator = Emulator()

    sent = ask(Gateway(emulator, PORT), scope())

    assert sent[0]["status"] == 503
    assert not emulator.asked


def test_who_signed_stays_who_they_are():
    signed = [(b"Authorization", b"AWS4-HMAC-SHA256 Credential=caller/...")]

    assert to_api(scope(headers=signed), "abc")["headers"] == signed
