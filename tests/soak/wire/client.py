"""A caller of the API that repeats what was not answered, and keeps each answer that no page describes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import urllib3

from tests.api.published import Unpublished, checked

Json = dict[str, Any]
PATIENCE_SECONDS = 180.0
UNANSWERED = 0
REPEATED = frozenset({UNANSWERED, 429, 500, 502, 503, 504})
PAUSE_SECONDS = 0.3
TIMED_OUT = b"Sandbox.Timedout"
"""In the gateway's answer for a function that was still repeating its requests when its time was over."""


class NoAnswerInTimeError(AssertionError):
    """A request was still refused after PATIENCE_SECONDS."""


class CheckedPool(urllib3.PoolManager):
    """Connections to the API; ``odd`` has the answers that are not documented, 500 and 502 among them."""

    def __init__(self) -> None:
        super().__init__(maxsize=32, retries=False, timeout=60)
        self.statuses: Counter[int] = Counter()
        self.odd: list[str] = []

    def urlopen(self, method: str, url: str, redirect: bool = True, **more: Any) -> Any:
        answer = super().urlopen(method, url, redirect, **more)
        self.statuses[answer.status] += 1
        path = urlsplit(url).path
        if (
            path.startswith("/v1/") and TIMED_OUT not in answer.data
        ):  # a file of results is no answer of the API
            self._check(method, path, answer)
        return answer

    def _check(self, method: str, path: str, answer: Any) -> None:
        try:
            checked(method, path, answer.status, answer.headers, answer.data.decode())
        except Unpublished as error:
            self.odd.append(str(error)[:500])
        if answer.status == 500:
            self.odd.append(f"{method} {path}: 500 {answer.data[:300]!r}")


@dataclass
class Client:
    """Calls the API at *url*.

    *repeat* is called with a pause in seconds before a request is sent again.
    """

    url: str
    repeat: Callable[[float], None] = time.sleep
    pool: CheckedPool = field(default_factory=CheckedPool)

    def post(self, path: str, body: Json | None = None, key: str = "") -> Json:
        """Send a POST until it has an answer; its idempotency key makes its repetitions one request."""
        return self._called("POST", path, body or {}, key or uuid4().hex)

    def get(self, path: str) -> Json:
        """Send a GET until it has an answer."""
        return self._called("GET", path, None, None)

    def _called(self, method: str, path: str, body: Json | None, key: str | None) -> Json:
        give_up = time.monotonic() + PATIENCE_SECONDS
        status, found = 0, b""
        while time.monotonic() < give_up:
            status, found = self._once(method, path, body, key)
            if status not in REPEATED:
                break
            self.repeat(PAUSE_SECONDS)
        if not 200 <= status < 300:
            raise NoAnswerInTimeError(f"{method} {path}: {status} {found[:300]!r}")
        answer: Json = json.loads(found)
        return answer

    def _once(self, method: str, path: str, body: Json | None, key: str | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        data = None if body is None else json.dumps(body)
        try:
            answer = self.pool.request(method, self.url + path, body=data, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            return UNANSWERED, str(error).encode()
        return answer.status, answer.data
