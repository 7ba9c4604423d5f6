"""HTTP requests that are repeated under one idempotency key, as a client repeats them."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from uuid import uuid4

from urllib3.exceptions import HTTPError

from fanin.client.transports import retrying
from lab.local.races import Api, Json

ATTEMPTS = 8


class InsistentApi(Api):
    """Repeats a POST while no answer, or one of a server's errors, comes; *pause* is called before each."""

    def __init__(self, url: str, pause: Callable[[float], None] = time.sleep) -> None:
        super().__init__(url)
        self.pause = pause

    def post(self, path: str, body: Json) -> Json:
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
        for attempt in range(ATTEMPTS):
            status, data = self.once(path, json.dumps(body), headers)
            if 200 <= status < 300:
                found: Json = json.loads(data)
                return found
            if not retrying.is_worth_it(status, 0):
                break
            self.pause(retrying.pause_seconds(attempt, 0, random.random()))
        raise RuntimeError(f"POST {path}: {status} {data[:200]!r}")

    def once(self, path: str, body: str, headers: Json) -> tuple[int, bytes]:
        try:
            answer = self.pool.request("POST", self.url + path, body=body, headers=headers)
        except HTTPError as error:
            return retrying.UNANSWERED, str(error).encode()
        return answer.status, answer.data
