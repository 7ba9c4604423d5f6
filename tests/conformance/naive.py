"""The tracker that is written first: a counter for each batch, and a completion at zero."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import Self

from fanin_conformance import (
    Adapter,
    Added,
    Answer,
    Completion,
    Delivery,
    Group,
    NotSupported,
    Refused,
    Status,
)


class Naive(Adapter):
    """Every ack counts, a repeated one too; whoever finds the counter at zero reports the completion."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.lock = Lock()
        self.keys: dict[str, str | None] = {}
        self.total: dict[str, int] = defaultdict(int)
        self.left: dict[str, int] = defaultdict(int)
        self.closed: set[str] = set()

    def open(
        self,
        *,
        user_key: str | None = None,
        token: str | None = None,
        expected_items: int | None = None,
        deadline_seconds: int | None = None,
        kept_open_seconds: int | None = None,
    ) -> str:
        if expected_items or deadline_seconds or kept_open_seconds:
            raise NotSupported("options of a batch")
        with self.lock:
            batch = str(len(self.keys) + 1)
            self.keys[batch] = user_key
        return batch

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        with self.lock:
            self.total[batch] += count
            self.left[batch] += count
        return Added((Group("1", count),))

    def close(self, batch: str, token: str | None = None) -> Answer:
        with self.lock:
            self.closed.add(batch)
            return Answer(self.completion(batch))

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        with self.lock:
            for item in items:
                self.left[item.split(":")[0]] -= 1
            batches = sorted({item.split(":")[0] for item in items})
            return Answer(tuple(each for batch in batches for each in self.completion(batch)))

    def completion(self, batch: str) -> tuple[Completion, ...]:
        is_done = batch in self.closed and self.left[batch] <= 0
        return (Completion(batch, None, True, self.keys.get(batch)),) if is_done else ()

    def status(self, batch: str) -> Status:
        if batch not in self.keys:
            raise Refused("not_found")
        total, left = self.total[batch], self.left[batch]
        complete = bool(self.completion(batch))
        return Status(batch in self.closed, complete, complete, self.keys[batch], total, total - left)

    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        return ()

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        self.ack(items)

    def ack_and_crash(self, items: Sequence[str]) -> None:
        self.ack(items)

    def remove(self, batch: str) -> None:
        del self.keys[batch]

    def anonymous(self) -> Self:
        return self

    def seconds(self) -> float:
        """Count no time: the machine decides on nothing."""
        return float(len(self.keys))
