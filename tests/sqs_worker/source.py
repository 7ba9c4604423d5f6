"""A queue in memory, as a worker sees it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Any

from fanin.errors import StoreUnavailable
from fanin.isolating import Record


class MemorySource:
    """Delivers each of *bodies* once. *groups*: their message groups, of a FIFO queue.

    *outages*: how many receives fail first. *refused*: receipt handles that are neither deleted nor hidden.
    """

    name = "work"

    def __init__(self, *bodies: str, groups: Sequence[str] = (), receives: int = 1) -> None:
        self.waiting = [self._record(at, body, groups, receives) for at, body in enumerate(bodies)]
        self.total, self.outages = len(bodies), 0
        self.refused: set[str] = set()
        self.received = 0
        self.deleted: list[str] = []
        self.hidden: list[tuple[str, int]] = []
        self.lock = threading.Lock()

    def receive(self, most: int, wait: int, visibility: int | None) -> Sequence[Record]:
        with self.lock:
            if self.outages:
                self.outages -= 1
                raise StoreUnavailable("SQS is not there")
            found, self.waiting = self.waiting[:most], self.waiting[most:]
            self.received += bool(found)
        if not found:
            threading.Event().wait(0.01)
        return found

    def delete(self, receipts: Sequence[str]) -> Collection[str]:
        self.deleted += [each for each in receipts if each not in self.refused]
        return self.refused & set(receipts)

    def hide(self, receipts: Sequence[str], seconds: int) -> Collection[str]:
        self.hidden += [(each, seconds) for each in receipts if each not in self.refused]
        return self.refused & set(receipts)

    @staticmethod
    def _record(at: int, body: str, groups: Sequence[str], receives: int) -> dict[str, Any]:
        attributes = {"ApproximateReceiveCount": str(receives)}
        if groups:
            attributes |= {"MessageGroupId": groups[at], "SequenceNumber": str(at)}
        return {"messageId": f"m{at}", "receiptHandle": f"r{at}", "body": body, "attributes": attributes}
