"""The store as an actor sees it: over a network that loses, repeats and delays, by the run's choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from fanin.errors import StoreUnavailable
from fanin.tracker.model import Batch, BatchKey, Group, PageKey, Receipt
from fanin.tracker.page import Page
from fanin.tracker.store import Written
from tests.simulation.choices import Choices
from tests.simulation.faults import POSSIBLE, Crash, Fault
from tests.simulation.loop import Loop
from tests.simulation.referee import Referee
from tests.simulation.trace import Trace

Request = tuple[str, tuple[Any, ...]]
NOBODY: Mapping[BatchKey, int] = {}


class UnreliableStore:
    """A TrackerStore. Other actors may go before each request, and each may fail; *stalled* lands later."""

    def __init__(self, referee: Referee, loop: Loop, choices: Choices, trace: Trace | None) -> None:
        self.faults: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.stalled: list[Request] = []
        self._referee, self._loop, self._choices, self._trace = referee, loop, choices, trace

    def create(self, batch: Batch) -> Batch:
        return self._send("create", batch)

    def get(self, key: BatchKey) -> Batch | None:
        return self._send("get", key)

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        """As DynamoDB does it: a refused transaction does not bring the receipt along, so it is read."""
        reserved = self._send("reserve", seen, receipt, group)
        return reserved if reserved is receipt else self._send("receipt", seen.key, receipt.key)

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        return self._send("receipt", key, receipt_key)

    def close(self, key: BatchKey, at: datetime, expires_at: datetime) -> Batch | None:
        return self._send("close", key, at, expires_at)

    def complete(self, key: BatchKey, caller: str, at: datetime, expires_at: datetime) -> Batch | None:
        return self._send("complete", key, caller, at, expires_at)

    def add_bits(self, key: PageKey, mask: int, expires_at: datetime) -> Written:
        return self._send("add_bits", key, mask, expires_at)

    def replace_bits(self, key: PageKey, seen: Page, mask: int, expires_at: datetime) -> Written:
        return self._send("replace_bits", key, seen, mask, expires_at)

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        return self._send("mark_tail", key, size, root, expires_at)

    def compact(self, key: PageKey, count: int) -> None:
        self._send("compact", key, count)

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        return self._send("pages", keys)

    def land(self, place: int) -> None:
        """A stalled copy reaches the store; nobody waits for its answer."""
        name, args = self.stalled.pop(place)
        self._apply("(a stalled copy)", name, args, "")

    def _send(self, name: str, *args: Any) -> Any:
        job = self._loop.now
        if job is None:
            return self._apply("(the harness)", name, args, "")
        self._referee.hears(getattr(job, "asked", NOBODY), name, args)
        self._loop.others_first()
        self.requests[name] += 1
        fault = self._choices.fault(POSSIBLE[name])
        if fault is None:
            return self._apply(job.name, name, args, "")
        return self._fail(job.name, fault, name, args)

    def _fail(self, actor: str, fault: Fault, name: str, args: tuple[Any, ...]) -> Any:
        self.faults[fault.name] += 1
        if fault.copied:
            self.stalled.append((name, args))
        answer = self._apply(actor, name, args, fault.name) if fault.applied else None
        if not fault.applied and self._trace is not None:
            self._trace.request(actor, name, args, fault.name, "not applied")
        if fault.again:
            self._loop.others_first()
            answer = self._apply(actor, name, args, "the repetition")
        if fault.crash:
            raise Crash
        if not fault.answered:
            raise StoreUnavailable(fault.name)
        return answer

    def _apply(self, actor: str, name: str, args: tuple[Any, ...], note: str) -> Any:
        if self._trace is None:
            return self._referee.apply(name, args)
        self._trace.request(actor, name, args, note, "...")
        answer = self._referee.apply(name, args)
        self._trace.answered(answer)
        return answer
