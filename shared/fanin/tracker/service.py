"""The tracker's use cases: open, add, close, ack, look. Each is safe to repeat and safe beside others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.tracker import climb
from fanin.tracker.acking import plan
from fanin.tracker.climb import Climber
from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, GroupId, checked_batch_id, named_batch_id
from fanin.tracker.model import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Completion,
    Group,
    OpenBatch,
    Progress,
    Receipt,
    State,
)
from fanin.tracker.progress import progress
from fanin.tracker.store import TrackerStore

ADD_ATTEMPTS = 10
CACHED_BATCHES = 10_000
RANGE_MAX = 1_000_000
"""Items that one request may ack, all its ranges together."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Tracker:
    """Says, exactly once, when all items of a batch are done.

    *page_bits*: items a page of a new batch, 2 to 1024. The clock, the sources of ids and salts, and the
    pause between attempts come in from outside.
    """

    store: TrackerStore
    page_bits: int = 1024
    now: Callable[[], datetime] = _now
    new_id: Callable[[], UUID] = uuid4
    entropy: Callable[[int], bytes] = os.urandom
    pause: Callable[[int], None] = climb.pause
    _known: dict[BatchKey, Batch] = field(default_factory=dict, repr=False)

    def open(self, tenant: str, wish: OpenBatch, key: str | None = None) -> Batch:
        """A new batch; under an idempotency *key* that came before, the batch of that time.

        Raises InvalidRequest for a mode that is not there, KeyReused where the key came with another wish.
        """
        if wish.mode != "exact":
            raise InvalidRequest(f"mode {wish.mode!r} is not supported yet; use 'exact'", field="mode")
        batch = self._new_batch(tenant, wish, key)
        stored = self.store.create(batch)
        if stored.fingerprint != batch.fingerprint:
            raise KeyReused("this Idempotency-Key was used for a batch with other settings")
        return stored

    def get(self, tenant: str, batch_id: str) -> Batch:
        """The batch as it is stored; NotFound where there is none, or it has expired."""
        batch = self.store.get(BatchKey(tenant, checked_batch_id(batch_id)))
        if batch is None or batch.expires_at <= self.now():
            raise NotFound(f"there is no batch {batch_id}")
        return batch

    def progress(self, batch: Batch) -> Progress:
        """How far the batch is, at a cost that does not grow with it."""
        return progress(self.store, batch)

    def add(self, tenant: str, batch_id: str, count: int, key: str | None = None) -> Added:
        """Reserve *count* items (1 to 2^36) in one group; the same group again for the same *key*.

        Raises InvalidRequest for a count out of bounds, NotFound, Conflict where the batch is no longer
        open, KeyReused where the key came with another count.
        """
        if not 1 <= count <= COUNT_MAX:
            raise InvalidRequest(f"count goes from 1 to {COUNT_MAX}", field="count")
        receipt_key = hashlib.sha256((key or self.new_id().hex).encode()).hexdigest()
        for attempt in range(ADD_ATTEMPTS):
            batch = self.get(tenant, batch_id)
            receipt = self._reserve(batch, receipt_key, count)
            if receipt is not None:
                return _added(batch, receipt, count)
            self.pause(attempt)
        raise StoreUnavailable("the batch grows from too many sides at once; ask again")

    def close(self, tenant: str, batch_id: str, caller: str) -> Closed:
        """Fence the batch off from adds, and complete it if nothing is outstanding. Raises NotFound."""
        seen = self.get(tenant, batch_id)
        at = self.now()
        batch = self.store.close(seen.key, at, at + seen.retention.closed)
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        if batch.state is State.CLOSED:
            batch = self._climber().seal(batch, caller) or batch
        return Closed(batch, completed_by_caller=batch.completed_by == caller)

    def ack(self, tenant: str, acks: Sequence[Ack]) -> AckReport:
        """Mark items done; one write a page, however many items. Raises nothing for single items.

        Raises InvalidRequest where the ranges cover more than a million items, StoreUnavailable where the
        outcome is unknown: all of it may be repeated.
        """
        if sum(ack.size for ack in acks) > RANGE_MAX:
            raise InvalidRequest(f"one request acks at most {RANGE_MAX} items", field="acks")
        request = plan(acks, lambda batch_id: self._known_batch(BatchKey(tenant, batch_id)), self.now())
        completions: list[Completion] = []
        for page in request.pages.values():
            done = self._climber().set_bits(page.batch, 0, page.number, page.mask, page.speaker)
            request.note(page, done.fresh)
            if done.completed and done.completed.completed_by in page.callers:
                completions.append(Completion(done.completed, done.completed.completed_by))
        return AckReport(request.results(), tuple(completions))

    def _climber(self) -> Climber:
        return Climber(self.store, self.now, self.pause)

    def _new_batch(self, tenant: str, wish: OpenBatch, key: str | None) -> Batch:
        at = self.now()
        return Batch(
            tenant=tenant,
            batch_id=named_batch_id(tenant, key) if key else str(self.new_id()),
            state=State.OPEN,
            mode=wish.mode,
            user_key=wish.user_key,
            total=0,
            failed=0,
            page_bits=self.page_bits,
            salt=self.entropy(16),
            fingerprint=hashlib.sha256(repr(wish).encode()).hexdigest(),
            retention=wish.retention,
            created_at=at,
            expires_at=at + wish.retention.open,
        )

    def _reserve(self, batch: Batch, receipt_key: str, count: int) -> Receipt | None:
        """The reservation under this key, made now or before; None where the batch has moved on."""
        if batch.state is not State.OPEN:
            return self._earlier(batch, receipt_key)
        if batch.total + count > TOTAL_MAX:
            raise InvalidRequest(f"a batch holds at most {TOTAL_MAX} items", field="count")
        receipt = Receipt(receipt_key, batch.total, count)
        return self.store.reserve(batch, receipt, _group(batch, receipt))

    def _earlier(self, batch: Batch, receipt_key: str) -> Receipt:
        """What a retry finds after the batch was closed: its reservation, or the seal."""
        receipt = self.store.receipt(batch.key, receipt_key)
        if receipt is None:
            raise Conflict(f"batch {batch.batch_id} is {batch.state}; items are added while it is OPEN")
        return receipt

    def _known_batch(self, key: BatchKey) -> Batch | None:
        """The batch with all that never changes about it; its state may be seconds old."""
        batch = self._known.get(key)
        if batch is None or batch.expires_at <= self.now():
            batch = self.store.get(key)
            if batch is not None:
                self._remember(batch)
        return batch

    def _remember(self, batch: Batch) -> None:
        if len(self._known) >= CACHED_BATCHES:
            self._known.clear()
        self._known[batch.key] = batch


def _group(batch: Batch, receipt: Receipt) -> Group:
    return Group(str(GroupId.make(batch.salt, batch.batch_id, receipt.start, receipt.count)), receipt.count)


def _added(batch: Batch, receipt: Receipt, count: int) -> Added:
    if receipt.count != count:
        raise KeyReused("this Idempotency-Key was used for an add of another count")
    return Added(batch.batch_id, (_group(batch, receipt),), receipt.start + receipt.count)
