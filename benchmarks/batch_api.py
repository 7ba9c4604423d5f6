"""A batch API on 127.0.0.1 that is slow, throttles and fails, all by a seed; it keeps book of its calls."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Weather:
    """How many percent of calls are *throttled*, or *failing*, and of tasks are *rejected* by themselves, or
    *poison*, for which the whole call is refused. *slow_seconds*: how long a call takes at most.
    """

    seed: str = "1"
    throttled: float = 0
    failing: float = 0
    poison: float = 0
    rejected: float = 0
    slow_seconds: float = 0.05

    def is_hit(self, percent: float, *names: object) -> bool:
        """Whether what goes by these *names* is among the *percent*, the same again for the same seed."""
        return self.chance(*names) * 100 < percent

    def chance(self, *names: object) -> float:
        text = ":".join(map(str, (self.seed, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was answered. *succeeded*: the tasks that it did."""

    bundle: str
    target: str
    attempt: int
    tasks: tuple[str, ...]
    status: int
    succeeded: tuple[str, ...]


@dataclass
class BatchApi:
    """The server, as a context; *calls* are those it answered, in order."""

    weather: Weather = Weather()
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> Self:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = api.answer(body, self.headers["Idempotency-Key"])
                said = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                """Nothing: *calls* is the log."""

        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/batch"

    def answer(self, body: Mapping[str, Any], key: str) -> tuple[int, Json]:
        """The answer to a call, after as long as it takes."""
        assert key == body["bundleId"], "the idempotency key is the bundle's id"
        weather, names = self.weather, tuple(task["taskId"] for task in body["tasks"])
        time.sleep(weather.slow_seconds * weather.chance("slow", key, body["attempt"]))
        status = self._status(body, names)
        rejected = {name for name in names if weather.is_hit(weather.rejected, "rejected", name)}
        succeeded = tuple(name for name in names if name not in rejected) if status == 200 else ()
        call = Call(key, body["target"], body["attempt"], names, status, succeeded)
        with self._lock:
            self.calls.append(call)
        results = [{"taskId": name, "outcome": "fail", "detail": "rejected"} for name in sorted(rejected)]
        return status, {"results": results} if status == 200 else {}

    def _status(self, body: Mapping[str, Any], names: Sequence[str]) -> int:
        weather, once = self.weather, (body["bundleId"], body["attempt"])
        if weather.is_hit(weather.throttled, "throttled", *once):
            return 429
        if weather.is_hit(weather.failing, "failing", *once):
            return 500
        return 400 if any(self.is_poison(name) for name in names) else 200

    def is_poison(self, task: str) -> bool:
        return self.weather.is_hit(self.weather.poison, "poison", task)

    def successes(self) -> Counter[str]:
        """How many calls did each task."""
        with self._lock:
            return Counter(name for call in self.calls for name in call.succeeded)
