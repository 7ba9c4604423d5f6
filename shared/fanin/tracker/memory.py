"""A store in a dictionary: for tests, for the simulator, and as the plainest statement of the contract."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fanin.tracker.model import Batch, BatchKey, Group, PageKey, Receipt, State
from fanin.tracker.page import Page
from fanin.tracker.store import Written


@dataclass
class MemoryStore:
    """Keeps the tracker's items in this process; one lock makes each request atomic."""

    batches: dict[BatchKey, Batch] = field(default_factory=dict)
    receipts: dict[tuple[BatchKey, str], Receipt] = field(default_factory=dict)
    groups: dict[tuple[BatchKey, int], Group] = field(default_factory=dict)
    stored_pages: dict[PageKey, Page] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def create(self, batch: Batch) -> Batch:
        with self.lock:
            return self.batches.setdefault(batch.key, batch)

    def get(self, key: BatchKey) -> Batch | None:
        with self.lock:
            return self.batches.get(key)

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        with self.lock:
            earlier = self.receipts.get((seen.key, receipt.key))
            if earlier is not None:
                return earlier
            batch = self.batches[seen.key]
            if batch.state is not State.OPEN or batch.total != seen.total:
                return None
            self.receipts[seen.key, receipt.key] = receipt
            self.groups[seen.key, receipt.start] = group
            self.batches[seen.key] = replace(batch, total=batch.total + receipt.count)
            return receipt

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        with self.lock:
            return self.receipts.get((key, receipt_key))

    def close(self, key: BatchKey, at: datetime, expires_at: datetime) -> Batch | None:
        with self.lock:
            batch = self.batches.get(key)
            if batch and batch.state is State.OPEN:
                batch = replace(batch, state=State.CLOSED, closed_at=at, expires_at=expires_at)
                self.batches[key] = batch
            return batch

    def complete(self, key: BatchKey, caller: str, at: datetime, expires_at: datetime) -> Batch | None:
        with self.lock:
            batch = self.batches.get(key)
            if batch and batch.state is State.CLOSED:
                batch = replace(
                    batch, state=State.COMPLETE, completed_at=at, completed_by=caller, expires_at=expires_at
                )
                self.batches[key] = batch
            return batch

    def add_bits(self, key: PageKey, mask: int, expires_at: datetime) -> Written:
        with self.lock:
            page = self.stored_pages.get(key, Page())
            if not page.admits(mask):
                return Written(page, applied=False)
            return self._put(key, page.with_bits(mask))

    def replace_bits(self, key: PageKey, seen: Page, mask: int, expires_at: datetime) -> Written:
        with self.lock:
            page = self.stored_pages.get(key, Page())
            if page.n != seen.n or page.compacted:
                return Written(page, applied=False)
            return self._put(key, page.with_bits(seen.unset(mask)))

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        with self.lock:
            page = self.stored_pages.get(key, Page())
            return self._put(key, replace(page, size=size, root=root)).page

    def compact(self, key: PageKey, count: int) -> None:
        with self.lock:
            page = self.stored_pages.get(key, Page())
            if page.may_compact(count):
                self._put(key, page.compact())

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        with self.lock:
            return {key: self.stored_pages[key] for key in keys if key in self.stored_pages}

    def _put(self, key: PageKey, page: Page) -> Written:
        self.stored_pages[key] = page
        return Written(page, applied=True)
