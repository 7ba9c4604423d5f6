"""The tracker's reads: batches, lists, progress, ranges of items; no caller sees a batch that is over."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from fanin.errors import Conflict, InvalidRequest, NotFound
from fanin.pacing import Each, each_in_turn, pause
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.sweeping import end_by_time, longest_open
from fanin.tracker.reads.children import ChildPage, child_page
from fanin.tracker.reads.failure_reasons import samples
from fanin.tracker.reads.listing import ListQuery, listing
from fanin.tracker.reads.mapping import CELLS_MAX, BatchMap, mapped
from fanin.tracker.reads.progress import glimpse, progress
from fanin.tracker.reads.progress_tokens import LIFETIME, LIFETIME_MAX, ProgressToken
from fanin.tracker.reads.walking import slice_of
from fanin.tracker.reads.watching import Watch, Watched
from fanin.tracker.reads.window import Window, window
from fanin.tracker.rules.acking import is_expired
from fanin.tracker.rules.ids import checked_batch_id
from fanin.tracker.rules.lifecycle import ends_at
from fanin.tracker.rules.model import Batch, BatchKey, Manifest, PageKey, Progress, Sample, Slice, State
from fanin.tracker.rules.options import Mode, ShownOptions
from fanin.tracker.store import Listing, ResultStore, TrackerStore

CACHED_BATCHES = 10_000


def _now() -> datetime:
    return datetime.now(UTC)


def _unlimited(tenant: str, batch_id: str) -> None:
    """Admit every batch."""


@dataclass
class Reader:
    """Reads batches, and ends those whose time is over: the base of the tracker, which also writes."""

    store: TrackerStore
    page_bits: int = 1024
    fresh_for: timedelta = timedelta(seconds=5)
    now: Callable[[], datetime] = _now
    new_id: Callable[[], UUID] = uuid4
    entropy: Callable[[int], bytes] = os.urandom
    pause: Callable[[int], None] = pause
    each: Each = each_in_turn
    admit: Callable[[str, str], None] = _unlimited
    results: ResultStore | None = None
    _known: dict[BatchKey, tuple[datetime, Batch]] = field(default_factory=dict, repr=False)
    _prepared: set[tuple[PageKey, bool]] = field(default_factory=set, repr=False)
    _watch: Watch | None = field(default=None, init=False, repr=False)

    def get(self, tenant: str, batch_id: str) -> Batch:
        """Return the batch; raise NotFound if it does not exist or has expired.

        A batch whose deadline has passed is ended first, if the sweeper has not ended it yet.
        """
        batch = self._standing(tenant, checked_batch_id(batch_id))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        return batch

    def progress_token(self, tenant: str, batch_id: str, lifetime: timedelta = LIFETIME) -> ProgressToken:
        """Return a token that reads the progress of the batch, for a second up to seven days.

        Raises NotFound, and InvalidRequest for another *lifetime*.
        """
        if not timedelta(seconds=1) <= lifetime <= LIFETIME_MAX:
            most = int(LIFETIME_MAX.total_seconds())
            raise InvalidRequest(f"a token expires after 1 to {most:,} seconds", field="expiresSeconds")
        return ProgressToken.of(self.get(tenant, batch_id), self.now() + lifetime)

    def watched(self, token: str) -> Watched:
        """Return what the progress *token* shows, at most a second old; see ``watching``. Raises NotFound."""
        if self._watch is None:
            self._watch = Watch(self.store, self.now, random.random)
        return self._watch.look(token)

    def state_of(self, tenant: str, batch_id: str) -> State | None:
        """Return the state of the batch, at most *fresh_for* old; None if the tenant has no such batch.

        EXPIRED if it has expired, as long as its row is not deleted.
        """
        batch = self._known_batch(BatchKey(tenant, checked_batch_id(batch_id)))
        return None if batch is None else State.EXPIRED if self._is_over(batch) else batch.state

    def list(self, tenant: str, query: ListQuery) -> Listing:
        """Return a page of the tenant's batches, newest first; the index is eventually consistent."""
        return listing(self.store, tenant, query, self.now(), self.each)

    def children(
        self, batch: Batch, item_id: str | None = None, start: int = 0, limit: int = 100, done: bool = False
    ) -> ChildPage:
        """Return the children of a batch's items that are live or have failed their items, a page of them.

        *item_id*: only those of this item. *start*: the item of the batch to begin with. *done*: the others
        too, the first 100 of an item.
        """
        page = child_page(self.store, batch, item_id, start, limit, self.each, done)
        return replace(page, batches=tuple(child for child in page.batches if not self._is_over(child)))

    def progress(self, batch: Batch) -> Progress:
        """Return bounds of how many items are acked, at a cost that does not grow with the batch."""
        return progress(self.store, batch)

    def glimpse(self, batch: Batch) -> Progress:
        """Return bounds of how many items are acked, from at most 32 pages of a level."""
        return glimpse(self.store, batch)

    def map(self, batch: Batch, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None) -> BatchMap:
        """Return how many items of each cell of a window are acked, at a bounded cost; see ``mapping``."""
        return mapped(self.store, batch, cells, start, stop)

    def is_confirmed(self, batch: Batch) -> bool:
        """Whether the bus has the ending event of *batch*; nothing is read for a live batch."""
        return not batch.is_alive and self.store.is_confirmed(batch.key)

    def is_put(self, batch: Batch) -> bool:
        """Whether the ending event of *batch* was put on a bus; nothing is read for a live batch."""
        return not batch.is_alive and self.store.is_put(batch.key)

    def outstanding(self, batch: Batch, start: int = 0, limit: int = 1000) -> Slice:
        """Return the items that are not acked, as ranges, from the item *start* of the batch on."""
        self._need_exact(batch, "which items are outstanding")
        return slice_of(self.store, batch, start, limit, failures=False)

    def failures(self, batch: Batch, start: int = 0, limit: int = 1000) -> Slice:
        """Return the failed items as ranges, from the item *start* of the batch on."""
        self._need_exact(batch, "which items failed")
        return slice_of(self.store, batch, start, limit, failures=True)

    def window(self, batch: Batch, group_id: str, first: int, last: int) -> Window:
        """Return which of the items *first* to *last* of a group are outstanding, and which failed."""
        self._need_exact(batch, "the state of an item")
        return window(self.store, batch, group_id, first, last)

    def manifest(self, batch: Batch) -> Manifest | None:
        """Return the manifest of an ended batch's results, which this call fixes; None if it keeps none."""
        kept = self.results_of(batch)
        return None if kept is None else kept.freeze(batch.key)

    def results_of(self, batch: ShownOptions) -> ResultStore | None:
        """Return the store of its results; None if it keeps none. Raises InvalidRequest without a store."""
        return self.result_store() if batch.needs_bucket else None

    def result_store(self) -> ResultStore:
        """Return the store of results. Raises InvalidRequest if there is none."""
        if self.results is None:
            raise InvalidRequest(
                "this process keeps no results: deploy the stack with results=True, and set"
                " FANIN_RESULTS_BUCKET to its output ResultsBucket",
                field="results",
            )
        return self.results

    def samples(self, batch: Batch) -> Sequence[Sample]:
        """Return a bounded number of failure reasons, without those of healed items."""
        return samples(self.store, batch)

    def longest_open(self) -> timedelta:
        """Return the age of the oldest live batch; 0 if there is none."""
        return longest_open(self.store, self.now())

    def _climber(self) -> Climber:
        return Climber(self.store, self.now, self.pause, self._prepared)

    def _standing(self, tenant: str, batch_id: str) -> Batch | None:
        """Return the batch, or None if it has expired, whether its row is deleted or not."""
        batch = self._read(BatchKey(tenant, batch_id))
        return None if batch is None or self._is_over(batch) else batch

    def _known_batch(self, key: BatchKey) -> Batch | None:
        """Return the batch as it was read at most *fresh_for* ago.

        Its options, its salt and its deadline never change; its state, its counts and its times may have.

        What was read at a later time than now is read again: the clock was set back.
        """
        now = self.now()
        read_at, batch = self._known.get(key, (now, None))
        if batch is None or not read_at <= now < min(read_at + self.fresh_for, ends_at(batch)):
            return self._read(key)
        return batch

    def _read(self, key: BatchKey) -> Batch | None:
        """Return the batch as it is stored, ended if that is due; None if there is none."""
        batch = self.store.get(key)
        if batch is not None:
            batch = self._ended_if_due(batch)
            self._remember(batch)
        return batch

    def _ended_if_due(self, batch: Batch) -> Batch:
        """End the batch if its deadline or expiry has passed, and return the stored batch.

        The end is written by the first reader that finds it, so a write in flight cannot extend the batch.
        """
        return end_by_time(self._climber(), batch) if batch.is_alive else batch

    def _is_over(self, batch: Batch) -> bool:
        """Whether the batch has expired or was deleted, although its row is still there."""
        return not batch.is_alive and is_expired(batch, self.now())

    def _remember(self, batch: Batch) -> None:
        if len(self._known) >= CACHED_BATCHES:
            self._known.clear()
        self._known[batch.key] = (self.now(), batch)

    @staticmethod
    def _need_exact(batch: Batch, figure: str) -> None:
        if batch.mode is Mode.ESTIMATED:
            raise Conflict(f"an estimated batch counts its acks; it does not know {figure}")
