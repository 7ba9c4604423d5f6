"""A tracker in memory that does what every case demands: one lock, one bit an item, one completion.

It is made to be broken: each rule is a method, which ``broken.py`` replaces.
"""

from __future__ import annotations

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
    Refused,
    Span,
    Status,
)

LIVE = ("open", "closed")


@dataclass
class Rows:
    """One group: a bit is 1 until its item is acked; failed items have a bit too."""

    size: int
    pending: int
    failed: int = 0


@dataclass
class Batch:
    id: str
    user_key: str | None
    expected: int | None
    deadline: float | None
    kept: float | None
    touched: float
    state: str = "open"
    groups: dict[str, Rows] = field(default_factory=dict)
    adds: dict[str, Added] = field(default_factory=dict)
    completed_by: str | None = None
    events: list[Delivery] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(rows.size for rows in self.groups.values())

    @property
    def outstanding(self) -> int:
        return sum(rows.pending.bit_count() for rows in self.groups.values())

    @property
    def failed(self) -> int:
        return sum(rows.failed.bit_count() for rows in self.groups.values())


class Reference(Adapter):
    """Time and work are counted, so that no case depends on the machine."""

    sweep_seconds = 0.05

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.lock = RLock()
        self.batches: dict[str, Batch] = {}
        self.opens: dict[str, str] = {}
        self.now = 0.0
        self.work = 0.0
        self.is_stranger = False

    # What the suite calls.

    def open(
        self,
        *,
        user_key: str | None = None,
        token: str | None = None,
        expected_items: int | None = None,
        deadline_seconds: int | None = None,
        kept_open_seconds: int | None = None,
    ) -> str:
        with self.one_request():
            token = self.open_token(token)
            if token not in self.opens:
                deadline = None if deadline_seconds is None else self.now + deadline_seconds
                batch = Batch(self.new_id(), user_key, expected_items, deadline, kept_open_seconds, self.now)
                self.batches[batch.id] = batch
                self.opens[token] = batch.id
            return self.opens[token]

    def add(self, batch: str, count: int, token: str | None = None) -> Added:
        with self.one_request():
            found = self.batch(batch)
            token = self.add_token(token)
            if token not in found.adds:
                self.check_count(count)
                self.check_open(found)
                group = self.new_id()
                found.groups[group] = Rows(count, (1 << count) - 1)
                found.adds[token] = Added((Group(group, count),))
            return found.adds[token]

    def close(self, batch: str, token: str | None = None) -> Answer:
        with self.one_request():
            found = self.batch(batch)
            if found.state == "open":
                self.check_expected(found)
                found.state = "closed"
            return Answer(self.completion(found, token or uuid4().hex))

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        return self.acked(items, token or uuid4().hex, failed=False)

    def fail(self, items: Sequence[str], reason: str) -> Answer:
        return self.acked(items, uuid4().hex, failed=True)

    def status(self, batch: str) -> Status:
        with self.one_request():
            found = self.batch(batch)
            is_over = found.state not in LIVE
            complete = found.state == "complete"
            return Status(
                self.is_closed(found),
                complete,
                is_over,
                self.user_key(found),
                found.total,
                found.total - found.outstanding,
                found.failed,
            )

    def cancel(self, batch: str) -> None:
        with self.one_request():
            self.end(self.batch(batch), "cancelled")

    def remove(self, batch: str) -> None:
        with self.one_request():
            del self.batches[self.batch(batch).id]

    def outstanding(self, batch: str) -> Sequence[Span]:
        with self.one_request():
            self.work += self.cost_of_list(self.batch(batch))
            return self.spans(self.batch(batch), "pending")

    def failures(self, batch: str) -> Sequence[Span]:
        with self.one_request():
            return self.spans(self.batch(batch), "failed")

    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        self.sweep()
        return tuple(self.batches[batch].events)

    def ack_unanswered(self, items: Sequence[str], token: str) -> None:
        self.ack(items, token)

    def ack_and_crash(self, items: Sequence[str]) -> None:
        with self.one_request():
            for item in items:
                self.verdict(item, failed=False)
        self.sweep()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.sweep()

    def anonymous(self) -> Self:
        stranger = type(self)(self.url)
        stranger.__dict__.update(self.__dict__)
        stranger.is_stranger = True
        return stranger

    def seconds(self) -> float:
        return self.work

    # The rules.

    @contextmanager
    def one_request(self) -> Iterator[None]:
        if self.is_stranger:
            raise Refused("denied")
        with self.lock:
            yield

    def batch(self, batch: str) -> Batch:
        if batch not in self.batches:
            raise Refused("not_found")
        return self.batches[batch]

    def new_id(self) -> str:
        return str(uuid4())

    def open_token(self, token: str | None) -> str:
        return token or uuid4().hex

    def add_token(self, token: str | None) -> str:
        return token or uuid4().hex

    def check_count(self, count: int) -> None:
        if not 1 <= count <= self.add_max:
            raise Refused("invalid")

    def check_open(self, batch: Batch) -> None:
        if batch.state != "open":
            raise Refused("conflict")

    def check_expected(self, batch: Batch) -> None:
        if batch.expected is not None and batch.total < batch.expected:
            raise Refused("conflict")

    def is_closed(self, batch: Batch) -> bool:
        return batch.state != "open"

    def user_key(self, batch: Batch) -> str | None:
        return batch.user_key

    def is_done(self, batch: Batch) -> bool:
        return batch.state == "closed" and batch.outstanding == 0

    def acked(self, items: Sequence[str], token: str, failed: bool) -> Answer:
        with self.one_request():
            self.work += self.cost_of_ack(items[0])
            verdicts = tuple(self.verdict(item, failed) for item in items)
            batches = {item.split(":")[0] for item in items} & self.batches.keys()
            completions = tuple(
                each for batch in batches for each in self.completion(self.batches[batch], token)
            )
            return Answer(completions, verdicts)

    def verdict(self, item: str, failed: bool) -> str:
        """Ack one item."""
        batch, group, index = item.split(":")
        found = self.batches.get(batch)
        rows = self.rows(found, group) if found else None
        if found is None or rows is None:
            return "not_found"
        at = self.index(index, rows.size)
        if at is None:
            return "out_of_range"
        if not rows.pending >> at & 1:
            return "duplicate"
        if found.state not in LIVE:
            return "cancelled" if found.state == "cancelled" else "late"
        rows.pending &= ~(1 << at)
        rows.failed |= failed << at
        self.touch(found)
        return "accepted"

    def rows(self, batch: Batch, group: str) -> Rows | None:
        return batch.groups.get(group)

    def index(self, text: str, size: int) -> int | None:
        return int(text) if text.isascii() and text.isdigit() and int(text) < size else None

    def touch(self, batch: Batch) -> None:
        batch.touched = self.now

    def completion(self, batch: Batch, token: str) -> tuple[Completion, ...]:
        """Complete the batch if it is done; report it to the request that did it."""
        if self.is_done(batch):
            batch.completed_by = token
            self.end(batch, "complete")
        if batch.state != "complete" or not self.is_reported_to(batch, token):
            return ()
        return (Completion(batch.id, None, self.is_success(batch), self.user_key(batch)),)

    def is_reported_to(self, batch: Batch, token: str) -> bool:
        return batch.completed_by == token

    def is_success(self, batch: Batch) -> bool:
        return batch.failed == 0

    def end(self, batch: Batch, state: str) -> None:
        if batch.state in LIVE:
            batch.state = state
            missing = self.spans(batch, "pending")
            kind = "completed" if state == "complete" else state
            batch.events.append(Delivery(kind, f"{batch.id}:{state}", missing))

    def sweep(self) -> None:
        with self.lock:
            for batch in list(self.batches.values()):
                self.completion(batch, "sweep")
                if batch.deadline is not None and batch.deadline < self.now:
                    self.end(batch, "timed_out")
                elif batch.kept is not None and batch.touched + batch.kept < self.now:
                    self.end(batch, "expired")

    def spans(self, batch: Batch, which: str) -> tuple[Span, ...]:
        found = []
        for group, rows in batch.groups.items():
            bits = getattr(rows, which)
            while bits:
                first = (bits & -bits).bit_length() - 1
                length = (~(bits >> first) & (bits >> first) + 1).bit_length() - 1
                found.append(Span(group, first, first + length - 1))
                bits &= ~(((1 << length) - 1) << first)
        return tuple(found)

    def cost_of_ack(self, item: str) -> float:
        return 0.001

    def cost_of_list(self, batch: Batch) -> float:
        return 0.001
