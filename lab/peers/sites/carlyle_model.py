"""The order of statements of Carlyle's exact mode, over tables in memory: each statement is atomic by itself.

Our own code, after its SQL statements. A group is a 64-bit mask; between two statements the
caller pauses, as for a database's answer.
"""

# ruff: noqa: ARG002 - the suite gives more than this order of statements takes
from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Self
from uuid import uuid4

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

GROUP_SIZE = 64
ROUND_TRIP_SECONDS = 0.001


@dataclass
class Row:
    user_key: str | None
    kept: float | None
    updated_at: float
    is_closed: bool = False


@dataclass
class Mask:
    batch: int
    size: int
    pending: int


@dataclass
class Carlyle(Adapter):
    """The verbs in Carlyle's order; an error that it answers with a 500 is a RuntimeError."""

    url: str | None = None
    batches: dict[int, Row] = field(default_factory=dict)
    masks: dict[str, Mask] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)
    now: float = 0.0
    work: float = 0.0
    last_id: int = 0

    @contextmanager
    def statement(self) -> Iterator[None]:
        with self.lock:
            yield
        time.sleep(ROUND_TRIP_SECONDS)

    def open(
        self,
        *,
        user_key: str | None = None,
        token: str | None = None,
        expected_items: int | None = None,
        deadline_seconds: int | None = None,
        kept_open_seconds: int | None = None,
    ) -> str:
        if expected_items is not None:
            raise NotSupported("expected items")
        with self.statement():
            self.last_id += 1
            self.batches[self.last_id] = Row(user_key, deadline_seconds or kept_open_seconds, self.now)
            return str(self.last_id)

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        with self.statement():
            row = self.batches.get(int(batch))
            if row and row.is_closed:
                raise RuntimeError("500: the batch is not available for adding")
        if count == 0:
            raise RuntimeError("500: division by zero")
        sizes = [GROUP_SIZE] * (count // GROUP_SIZE) if count > 0 else []
        sizes += [count % GROUP_SIZE if count > 0 else count] * bool(count % GROUP_SIZE)
        with self.statement():
            if int(batch) not in self.batches:
                raise RuntimeError("500: a foreign key")
            groups = tuple(Group(str(uuid4()), size) for size in sizes)
            for group in groups:
                self.masks[group.id] = Mask(int(batch), group.size, (1 << max(0, group.size)) - 1)
        return Added(groups)

    def close(self, batch: str, token: str | None = None) -> Answer:
        """One transaction: its change is not visible to others before its end, nor theirs to it."""
        with self.lock:
            pending = self.is_pending(int(batch))
        if pending:
            time.sleep(ROUND_TRIP_SECONDS * 2)
        with self.lock:
            if int(batch) not in self.batches:
                return Answer()
            self.batches[int(batch)].is_closed = True
        return Answer(() if pending else (Completion(batch),))

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        masks: dict[str, int] = {}
        batches: dict[str, str] = {}
        for item in items:
            batch, group, index = item.split(":")[:3]
            masks[group] = masks.get(group, 0) | 1 << int(index) % 2**32 % GROUP_SIZE
            batches[group] = batch
        found = {
            batch for group, batch in batches.items() if self.is_complete_after(group, batch, masks[group])
        }
        with self.statement():
            rows = [(batch, self.batches[int(batch)].user_key) for batch in sorted(found)]
        return Answer(tuple(Completion(batch, None, True, key) for batch, key in rows))

    def is_complete_after(self, group: str, batch: str, mask: int) -> bool:
        with self.statement():
            if group in self.masks:
                self.masks[group].pending &= ~mask
        with self.statement():
            row = self.batches.get(self.number(batch))
            if row is None or not row.is_closed:
                return False
        with self.statement():
            return not self.is_pending(self.number(batch))

    def number(self, batch: str) -> int:
        return int(batch) if batch.isdigit() else 0

    def is_pending(self, batch: int) -> bool:
        groups = [mask for mask in self.masks.values() if mask.batch == batch]
        self.work += 0.001 * len(groups)
        return any(mask.pending for mask in groups)

    def status(self, batch: str) -> Status:
        with self.lock:
            row = self.batches.get(self.number(batch))
            if row is None:
                raise Refused("not_found")
            complete = row.is_closed and not self.is_pending(int(batch))
            return Status(row.is_closed, complete, complete, row.user_key)

    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        """Return nothing: a completion is in the answer to a request, or nowhere."""
        return ()

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        self.ack(items)

    def ack_and_crash(self, items: Sequence[str]) -> None:
        """Store the bits; the process that would have looked at the batch is gone."""
        for item in items:
            _, group, index = item.split(":")
            self.masks[group].pending &= ~(1 << int(index))

    def pass_time(self, seconds: float) -> None:
        """Advance the clock; delete the batches with groups that are too old, whatever was acked in them."""
        self.now += seconds
        full = {mask.batch for mask in self.masks.values()}
        for batch, row in list(self.batches.items()):
            if row.kept is not None and row.updated_at + row.kept < self.now and batch in full:
                del self.batches[batch]

    def remove(self, batch: str) -> None:
        del self.batches[int(batch)]

    def unknown_batch(self) -> str:
        return "987654321"

    def anonymous(self) -> Self:
        """Return the same: there are no callers with credentials."""
        return self

    def seconds(self) -> float:
        return self.work
