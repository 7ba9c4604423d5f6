"""Setting bits, and what follows from a full page: up the tree, to the one decision that the batch is done.

Every step only sets bits, so each is idempotent: whoever repeats an ack repairs a climb that a crash cut
short. The last ack and close meet on the last page of a level, which the store serializes, so that one of
them sees it full.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fanin.errors import StoreUnavailable
from fanin.tracker.model import Batch, PageKey, State
from fanin.tracker.page import Page, digits
from fanin.tracker.store import TrackerStore, Written
from fanin.tracker.tree import tails

# An expression of DynamoDB holds 4 KB: the guards of about 20 digits. Above that a page is read first.
GUARDED_DIGITS = 20
WRITE_ATTEMPTS = 16
FIRST_PAUSE_SECONDS = 0.01


def pause(attempt: int) -> None:
    """Wait a jittered moment before attempt ``attempt + 1``; two seconds at most."""
    time.sleep(random.uniform(0, min(2.0, FIRST_PAUSE_SECONDS * 2**attempt)))


@dataclass(frozen=True, slots=True)
class BitsSet:
    """The bits that this call set, and the batch where it is complete now, by whomever."""

    fresh: int
    completed: Batch | None


@dataclass(frozen=True, slots=True)
class Climber:
    """Writes pages of one store, at the times of one clock."""

    store: TrackerStore
    now: Callable[[], datetime]
    pause: Callable[[int], None] = pause

    def set_bits(self, batch: Batch, level: int, number: int, mask: int, caller: str) -> BitsSet:
        """Set *mask* in a page, and climb if the page is full, whoever filled it."""
        key = PageKey(batch.key, level, number)
        fresh, page = self._write(batch, key, mask)
        return BitsSet(fresh, self.climb(batch, key, page, caller))

    def climb(self, batch: Batch, key: PageKey, page: Page, caller: str) -> Batch | None:
        """Carry the news of a full page upwards; the batch, where it is complete."""
        if not page.is_full(batch.page_bits):
            return None
        if page.root:
            completed = self.complete(batch, caller)
        else:
            parent, bit = divmod(key.number, batch.page_bits)
            completed = self.set_bits(batch, key.level + 1, parent, 1 << bit, caller).completed
        if not page.compacted:
            self.store.compact(key, page.n)
        return completed

    def complete(self, batch: Batch, caller: str) -> Batch | None:
        """Decide that the batch is done, once; the batch as it stands, where it is complete."""
        at = self.now()
        stored = self.store.complete(batch.key, caller, at, at + batch.retention.complete)
        return stored if stored and stored.state is State.COMPLETE else None

    def seal(self, batch: Batch, caller: str) -> Batch | None:
        """Mark the last page of each level of a CLOSED batch; the batch, where it is complete."""
        if batch.total == 0:
            return self.complete(batch, caller)
        completed = None
        for tail in tails(batch.total, batch.page_bits):
            key = PageKey(batch.key, tail.level, tail.number)
            page = self.store.mark_tail(key, tail.size, tail.root, batch.pages_expire_at)
            completed = self.climb(batch, key, page, caller)
        return completed

    def _write(self, batch: Batch, key: PageKey, mask: int) -> tuple[int, Page]:
        """The bits of *mask* that were set by this call, and the page after it."""
        seen: Page | None = None
        for attempt in range(WRITE_ATTEMPTS):
            written = self._send(batch, key, seen, mask)
            if written.applied:
                return mask, written.page
            seen, left = written.page, written.page.unset(mask)
            if not left:
                return 0, seen
            if left == mask:
                self.pause(attempt)
            mask = left
        raise StoreUnavailable("a page is written to from too many sides at once; ask again")

    def _send(self, batch: Batch, key: PageKey, seen: Page | None, mask: int) -> Written:
        """One write: a guarded add, or for many digits a replacement of the page as it was seen."""
        if sum(1 for _ in digits(mask)) <= GUARDED_DIGITS:
            return self.store.add_bits(key, mask, batch.pages_expire_at)
        if seen is None:
            seen = self.store.pages([key]).get(key, Page())
        if seen.unset(mask) != mask:
            return Written(seen, applied=False)
        return self.store.replace_bits(key, seen, mask, batch.pages_expire_at)
