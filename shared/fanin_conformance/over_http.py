"""fanin's own adapter: the HTTP API, signed as the client signs, without the client's checks."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from copy import copy
from typing import Any, Literal, Self
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import urllib3

from fanin.cli.arguments.where import Where
from fanin.client.transports import retrying
from fanin.client.transports.http import CONNECT_SECONDS, NOT_CONNECTED, is_loopback, signer_of
from fanin.client.transports.signing import Sign
from fanin_conformance.adapter import (
    Adapter,
    Added,
    Answer,
    Completion,
    Group,
    NotSupported,
    Refused,
    Span,
    Status,
    Unreachable,
)

ATTEMPTS = 5
CALLERS = 64
"""Connections that are kept: more than any case has callers."""
REQUEST_SECONDS = 60.0
STORED_SECONDS = 20.0
RANGE_MAX = 100_000
"""Items that one range of an ack may cover."""
OF_API_GATEWAY = b'{"message"'
"""How an answer of API Gateway itself begins, as for a path that has no route."""
Json = Mapping[str, Any]
Why = Literal["not_found", "conflict", "invalid", "denied"]
WHYS: Mapping[int, Why] = {
    400: "invalid",
    401: "denied",
    403: "denied",
    404: "not_found",
    409: "conflict",
    410: "not_found",
    413: "invalid",
    422: "invalid",
}


class FaninOverHttp(Adapter):
    """The API at a URL: with AWS signatures, with the bearer token FANIN_TOKEN, or on this machine."""

    add_max = 2**36
    user_key_max = 256

    def __init__(self, url: str | None = None) -> None:
        super().__init__(str(url).rstrip("/"))
        self.host = urlsplit(str(self.url)).hostname or ""
        self.sign: Sign | None = Where(url=self.url).site().bearer() or signer_of(self.host, None)
        self.pool = urllib3.PoolManager(maxsize=CALLERS, timeout=REQUEST_SECONDS, retries=False)

    def reach(self) -> None:
        path = f"/v1/batches/{self.unknown_batch()}"
        try:
            answer = self.pool.request("GET", f"{self.url}{path}", timeout=CONNECT_SECONDS, redirect=False)
        except NOT_CONNECTED as error:
            raise Unreachable(str(error)) from error
        except urllib3.exceptions.HTTPError:
            return  # it answers, if slowly or not as HTTP: that is for the cases
        if answer.status == 404 and answer.data.startswith(OF_API_GATEWAY):
            raise Unreachable(f"an API Gateway is there, without a route for {path}")

    def open(
        self,
        *,
        user_key: str | None = None,
        token: str | None = None,
        expected_items: int | None = None,
        deadline_seconds: int | None = None,
        kept_open_seconds: int | None = None,
    ) -> str:
        kept = None if kept_open_seconds is None else {"open": kept_open_seconds}
        body = {
            "userKey": user_key,
            "expectedItems": expected_items,
            "deadlineSeconds": deadline_seconds,
            "retentionSeconds": kept,
        }
        given = {name: value for name, value in body.items() if value is not None}
        return str(self.post("/v1/batches", given, token)["batchId"])

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        answer = self.post(f"/v1/batches/{batch}/items", {"count": count}, token)
        return Added(tuple(Group(group["id"], group["upto"]) for group in answer["groups"]))

    def close(self, batch: str, token: str | None = None) -> Answer:
        answer = self.post(f"/v1/batches/{batch}/close", {}, token)
        completion = Completion(batch, user_key=answer.get("userKey"))
        return Answer((completion,) if answer["completedByYou"] else ())

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        return self._acked({"items": list(items)}, token)

    def fail(self, items: Sequence[str], reason: str) -> Answer:
        acks = [{"itemId": item, "outcome": "failure", "reason": reason} for item in items]
        return self._acked({"acks": acks}, None)

    def ack_span(self, batch: str, span: Span) -> None:
        for first in range(span.first, span.last + 1, RANGE_MAX):
            last = min(span.last, first + RANGE_MAX - 1)
            part = {"batchId": batch, "groupId": span.group, "from": first, "to": last}
            self.post("/v1/acks", {"acks": [part]}, None)

    def status(self, batch: str) -> Status:
        found = self.request("GET", f"/v1/batches/{batch}")
        progress = found["progress"]
        return Status(
            found["isClosed"],
            found["isComplete"],
            found["state"] not in ("OPEN", "CLOSED"),
            found.get("userKey"),
            found["total"],
            progress["acked"],
            progress["failed"],
        )

    def cancel(self, batch: str) -> None:
        self.post(f"/v1/batches/{batch}/cancel", {}, None)

    def remove(self, batch: str) -> None:
        self.request("DELETE", f"/v1/batches/{batch}")

    def outstanding(self, batch: str) -> Sequence[Span]:
        return self._spans(self.request("GET", f"/v1/batches/{batch}/outstanding"))

    def failures(self, batch: str) -> Sequence[Span]:
        found: list[Span] = []
        query: dict[str, str] = {}
        while True:
            page = self.request("GET", f"/v1/batches/{batch}/failures?{urlencode(query)}")
            found += self._spans(page)
            if not page.get("cursor"):
                return found
            query = {"cursor": page["cursor"]}

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        """Send the ack, wait until the status has its items, and cut the connection without reading."""
        path = urlsplit(f"{self.url}/v1/acks")
        kind = http.client.HTTPSConnection if path.scheme == "https" else http.client.HTTPConnection
        body = json.dumps({"items": list(items)}).encode()
        headers = self._headers("POST", path.geturl(), body, token)
        batch = items[0].partition(":")[0]
        before = self.status(batch).acked or 0
        with closing(kind(path.netloc, timeout=REQUEST_SECONDS)) as connection:
            connection.request("POST", path.path, body, dict(headers))
            until = time.monotonic() + STORED_SECONDS
            while (self.status(batch).acked or 0) < before + len(items):
                if time.monotonic() > until:
                    raise TimeoutError(f"the ack was not stored within {STORED_SECONDS:g} s")
                time.sleep(0.02)

    def anonymous(self) -> Self:
        if self.sign is None and is_loopback(self.host):
            raise NotSupported("authentication of a local run without a JWT issuer")
        stranger = copy(self)
        stranger.sign = None
        return stranger

    def post(self, path: str, body: Json, token: str | None) -> Any:
        """Send a POST under its idempotency key; return the answer."""
        return self.request("POST", path, json.dumps(body).encode(), token or uuid4().hex)

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> Any:
        """Return the answer to a request; repeat it while the API is overloaded. Raises Refused."""
        status, data = self._repeated(lambda: self._once(method, f"{self.url}{path}", body, token))
        if status in WHYS:
            raise Refused(WHYS[status], data[:200].decode(errors="replace"))
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {status} {data[:200]!r}")
        return json.loads(data or b"{}")

    def _repeated(self, send: Callable[[], tuple[int, bytes, float]]) -> tuple[int, bytes]:
        for attempt in range(ATTEMPTS):
            status, data, wait = send()
            if status not in (429, 503) or attempt == ATTEMPTS - 1:
                break
            time.sleep(retrying.pause_seconds(attempt, min(wait, 5.0), random.random()))
        return status, data

    def _once(self, method: str, url: str, body: bytes | None, token: str | None) -> tuple[int, bytes, float]:
        headers = self._headers(method, url, body, token)
        answer = self.pool.request(method, url, body=body, headers=headers, redirect=False)
        wait = retrying.retry_after_seconds(answer.headers.get("Retry-After", ""), time.time())
        return answer.status, answer.data, wait

    def _headers(self, method: str, url: str, body: bytes | None, token: str | None) -> Mapping[str, str]:
        headers = {"Accept": "application/json, application/problem+json"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": str(token)}
        return self.sign(method, url, body, headers) if self.sign else headers

    def _acked(self, body: Json, token: str | None) -> Answer:
        answer = self.post("/v1/acks", body, token)
        completions = tuple(
            Completion(
                completion["batchId"],
                succeeded=completion["result"] == "succeeded",
                user_key=completion.get("userKey"),
            )
            for completion in answer["completions"]
        )
        return Answer(completions, tuple(result["verdict"] for result in answer["results"]))

    @staticmethod
    def _spans(page: Json) -> list[Span]:
        return [Span(part["groupId"], part["from"], part["to"]) for part in page["ranges"]]
