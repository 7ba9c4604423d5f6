"""A Celery chord as an adapter: for the Python that has Celery."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

from celery import Celery, chord
from celery.app.trace import trace_task
from redis import Redis

from lab.conforming.whole import Sent, Whole

ITEMS, ENDS = "celery", "ends"


class Chord(Whole):
    """The messages of the header are taken from the queue, and run by Celery's own tracer at each ack."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.app = Celery("judged", broker=url, backend=url, set_as_current=False)
        self.redis = Redis.from_url(str(url))
        self.item = self.app.task(_item, name="item")
        self.end = self.app.task(_end, name="end")
        self.app.finalize()
        self.messages: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()

    def send(self, batch: str, sent: Sent) -> None:
        header = [self.item.s().set(task_id=item) for item in sent.items]
        chord(header, app=self.app)(self.end.s(batch).set(queue=ENDS))
        for message in self._taken(ITEMS):
            self.messages[message["headers"]["id"]] = message

    def work(self, item: str, fails: bool) -> None:
        while item not in self.messages:
            time.sleep(0.01)  # another thread has taken it from the queue
        message = self.messages[item]
        args, kwargs, embedded = _body(message)
        request = {**message["headers"], **embedded, "args": args, "kwargs": kwargs, "is_eager": False}
        request["delivery_info"] = message["properties"]["delivery_info"]
        with self.lock:  # a worker of the pool "solo"
            trace_task(self.item, item, [fails], kwargs, request=request, app=self.app)

    def ends(self) -> Sequence[tuple[str, bool]]:
        return [(str(_body(message)[0][-1]), True) for message in self._taken(ENDS)]

    def _taken(self, queue: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while text := self.redis.rpop(queue):
            found.append(json.loads(text))
        return found


def _body(message: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(message["body"]))


def _item(fails: bool = False) -> int:
    """Do an item, and return what differs in each run of it."""
    if fails:
        raise ValueError("bad record")
    return time.time_ns()


def _end(values: list[Any], batch: str) -> None:
    """Never run: its message is taken from the queue."""
