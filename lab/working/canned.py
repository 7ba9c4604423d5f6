"""SQS and the API with canned answers, so that a measurement is of the worker alone.

``python -m lab.working.canned MESSAGES LATENCY_MS`` prints its port. It answers each request after the
latency; ``GET /stats`` has what it was asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

BATCH, GROUP = UUID(int=1), UUID(int=2)
NOTHING: dict[str, Any] = {}


class Site:
    """A queue with so many *messages*, and a batch of their items."""

    def __init__(self, messages: int, latency: float) -> None:
        self.messages, self.latency = messages, latency
        self.sent, self.deleted = 0, 0
        self.requests: Counter[str] = Counter()
        self.first, self.last = 0.0, 0.0

    def answer(self, target: str, path: str, body: Any) -> tuple[dict[str, Any], float]:
        """Return the document of a request, and the seconds after which it is sent."""
        name = target.rpartition(".")[2] or path.partition("?")[0]
        if path == "/stats":
            return {"requests": self.requests, "deleted": self.deleted, "seconds": self.last - self.first}, 0
        self.requests[name if target or path == "/v1/acks" else "state"] += 1
        calls: dict[str, Callable[[Any], dict[str, Any]]] = {
            "ReceiveMessage": self.receive,
            "DeleteMessageBatch": self.delete,
            "/v1/acks": _acked,
        }
        document = calls[name](body) if name in calls else FIXED.get(name, {"state": "OPEN"})
        is_idle = name == "ReceiveMessage" and not document
        return document, body.get("WaitTimeSeconds", 0) if is_idle else self.latency

    def receive(self, body: Any) -> dict[str, Any]:
        self.first = self.first or time.monotonic()
        count = min(body["MaxNumberOfMessages"], self.messages - self.sent)
        self.sent += count
        messages = [_message(at) for at in range(self.sent - count, self.sent)]
        return {"Messages": messages} if messages else NOTHING

    def delete(self, body: Any) -> dict[str, Any]:
        self.deleted += len(body["Entries"])
        self.last = time.monotonic()
        return {"Successful": [{"Id": each["Id"]} for each in body["Entries"]], "Failed": []}


FIXED: dict[str, dict[str, Any]] = {
    "GetQueueAttributes": {
        "Attributes": {"QueueArn": "arn:aws:sqs:us-east-1:000000000000:work", "VisibilityTimeout": "60"}
    },
    "ChangeMessageVisibilityBatch": {"Successful": [], "Failed": []},
}


def _message(at: int) -> dict[str, Any]:
    body = f"{BATCH}:{GROUP}:{at}"
    return {
        "MessageId": str(UUID(int=at)),
        "ReceiptHandle": f"{at}" + "r" * 200,
        "Body": body,
        "MD5OfBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(),
        "Attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1764000000000"},
    }


def _acked(body: Any) -> dict[str, Any]:
    ids = body.get("items") or [each["itemId"] for each in body["acks"]]
    return {"results": [{"itemId": each, "verdict": "accepted"} for each in ids], "completions": []}


class Connection(asyncio.Protocol):
    """One keep-alive connection, with one request at a time."""

    def __init__(self, site: Site) -> None:
        self.site, self.received = site, b""
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        if not found or len(body) < int(headers.get("content-length", 0)):
            return
        self.received = b""
        document, seconds = self.site.answer(
            headers.get("x-amz-target", ""), lines[0].split()[1], json.loads(body or b"{}")
        )
        text = json.dumps(document).encode()
        kind = "application/x-amz-json-1.0" if "x-amz-target" in headers else "application/json"
        answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n\r\n".encode()
        asyncio.get_running_loop().call_later(seconds, self.transport.write, answer + text)


async def serve(messages: int, latency: float) -> None:
    """Answer requests on a core of its own, if there are two."""
    if (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {1})
    site = Site(messages, latency)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(site), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
