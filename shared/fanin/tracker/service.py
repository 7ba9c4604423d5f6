"""The tracker's use cases: open, add, close, ack, look, end. Each is safe to repeat, and beside others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.pacing import Each, each_in_turn, pause
from fanin.tracker.acking import AckPlan, PageAcked, batch_ids, covers, judge, plan, word_of
from fanin.tracker.climb import Climber
from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, GroupId, checked_batch_id
from fanin.tracker.lifecycle import due, earliest, ends_at, prolonged, turned
from fanin.tracker.listing import ListQuery, listing
from fanin.tracker.model import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Group,
    Mode,
    OpenBatch,
    Progress,
    Receipt,
    Sample,
    Slice,
    State,
)
from fanin.tracker.opening import new_batch, same_request
from fanin.tracker.page import PageMasks
from fanin.tracker.progress import progress
from fanin.tracker.recording import Recorder
from fanin.tracker.sampling import samples
from fanin.tracker.store import Listing, TrackerStore
from fanin.tracker.sweeping import Sweep, Sweeper, end_by_time, longest_open
from fanin.tracker.walking import slice_of

ADD_ATTEMPTS = 10
CACHED_BATCHES = 10_000
LEVELS_AT_ONCE = 16
OPEN_ATTEMPTS = 10
KEYS_KEPT = timedelta(days=1)
RANGE_MAX = 1_000_000
"""Items that one request may ack, all its ranges together."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Tracker:
    """Says, exactly once, when all items of a batch are done.

    *page_bits*: items a page of a new batch, 2 to 1024. *fresh_for*: how old the state of a batch may be
    that an ack goes by; what is older is read again. It decides verdicts of courtesy (``cancelled``,
    ``late``) and nothing else. The clock, the sources of ids and salts, the pause between attempts,
    and how several requests are sent that do not depend on each other, come in from outside.
    """

    store: TrackerStore
    page_bits: int = 1024
    fresh_for: timedelta = timedelta(seconds=5)
    now: Callable[[], datetime] = _now
    new_id: Callable[[], UUID] = uuid4
    entropy: Callable[[int], bytes] = os.urandom
    pause: Callable[[int], None] = pause
    each: Each = each_in_turn
    _known: dict[BatchKey, tuple[datetime, Batch]] = field(default_factory=dict, repr=False)

    def open(self, tenant: str, request: OpenBatch, key: str | None = None) -> Batch:
        """A new batch; under an idempotency *key* that came before, the batch of that time.

        Raises InvalidRequest for a parent that is no item of the tenant's, KeyReused where the key came
        with another wish.
        """
        if key is None:
            return self.store.create(self._new(tenant, request))
        held = self.store.named(tenant, key)
        for _ in range(OPEN_ATTEMPTS):
            stored = held and self._standing(tenant, held)
            if stored:
                return same_request(stored, request)
            batch = self._new(tenant, request)
            held = self.store.create_under(batch, key, held)
            if held == batch.batch_id:
                return batch
        raise StoreUnavailable("batches are opened under this Idempotency-Key from too many sides; ask again")

    def get(self, tenant: str, batch_id: str) -> Batch:
        """The batch as it stands; NotFound where there is none, or it has expired.

        A deadline that has passed ends the batch here, if the sweeper has not come to it yet.
        """
        batch = self._standing(tenant, checked_batch_id(batch_id))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        return batch

    def list(self, tenant: str, query: ListQuery) -> Listing:
        """A page of the tenant's batches, newest first; it may lag behind by a moment."""
        return listing(self.store, tenant, query, self.now())

    def progress(self, batch: Batch) -> Progress:
        """How far the batch is, at a cost that does not grow with it."""
        return progress(self.store, batch)

    def outstanding(self, batch: Batch, start: int = 0, limit: int = 1000) -> Slice:
        """What is not acked yet, as ranges, from the item *start* of the batch on."""
        self._need_exact(batch, "which items are outstanding")
        return slice_of(self.store, batch, start, limit, failures=False)

    def failures(self, batch: Batch, start: int = 0, limit: int = 1000) -> Slice:
        """What failed, as ranges, from the item *start* of the batch on."""
        self._need_exact(batch, "which items failed")
        return slice_of(self.store, batch, start, limit, failures=True)

    def samples(self, batch: Batch) -> Sequence[Sample]:
        """Reasons of failures, a bounded number of them; none of items that were healed."""
        return samples(self.store, batch)

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
                self._prolong(batch)
                return _added(batch, receipt, count)
            self.pause(attempt)
        raise StoreUnavailable("the batch grows from too many sides at once; ask again")

    def close(self, tenant: str, batch_id: str, caller: str) -> Closed:
        """Fence the batch off from adds, and complete it if nothing is outstanding.

        Raises NotFound, and Conflict where fewer items were added than the batch expects.
        """
        seen = self.get(tenant, batch_id)
        batch = self.store.turn(seen.key, turned(seen, State.CLOSED, self.now()))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        if batch.state is State.OPEN:
            raise Conflict(
                f"the batch expects {batch.expected_items} items and has {batch.total}; add the rest first"
            )
        if batch.state is State.CLOSED:
            batch = self._climber().seal(batch, caller) or batch
        self._tell_parent(batch)
        return Closed(batch, completed_by_caller=batch.completed_by == caller)

    def cancel(self, tenant: str, batch_id: str, reason: str | None = None) -> Batch:
        """End the batch without waiting for its items; one that has ended stays as it is. Raises NotFound."""
        seen = self.get(tenant, batch_id)
        batch = self.store.turn(seen.key, turned(seen, State.CANCELLED, self.now(), reason=reason))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        self._tell_parent(batch)
        return batch

    def notify(self, tenant: str, batch_id: str) -> Batch:
        """Send the ending event once more, under the id it had. Raises NotFound; Conflict before the end."""
        batch = self.get(tenant, batch_id)
        if batch.is_alive:
            raise Conflict("the batch has not ended; there is no event to send yet")
        self.store.notice(batch, self.now())
        return batch

    def ack(self, tenant: str, acks: Sequence[Ack]) -> AckReport:
        """Mark items done or failed; one write a page, however many items. Raises nothing for single items.

        Raises InvalidRequest where the ranges cover more than a million items, TooManyBatches where they are
        of more than 100 batches, TooManyPages where they lie in more than 1,000 pages, or failures in more
        than 250, and StoreUnavailable where the outcome is unknown: all of it may be repeated.
        """
        if sum(ack.size for ack in acks) > RANGE_MAX:
            raise InvalidRequest(f"one request acks at most {RANGE_MAX} items", field="acks")
        report, ended = self._record(tenant, acks)
        self.each(self._tell_parent, ended)
        return report

    def ack_pages(
        self, tenant: str, batch_id: str, pages: Mapping[int, PageMasks], caller: str
    ) -> Sequence[PageAcked]:
        """Mark folded acks of an exact batch: all pages are read at once, one that lacks any is written once.

        For whoever has checked the ids before folding them. Raises NotFound, Conflict where the batch counts
        its acks, InvalidRequest for a bit that is no item's, StoreUnavailable as ``ack`` does.
        """
        at = self.now()
        batch = self._holding(BatchKey(tenant, checked_batch_id(batch_id)), pages)
        self._need_exact(batch, "which items are acked")
        ended: dict[BatchKey, Batch] = {}
        recorder = Recorder(self._climber(), lambda batch: ended.update({batch.key: batch}), self.each)
        done = recorder.record_folded(batch, pages, caller, at)
        self._prolong(batch)
        for batch in ended.values():
            self._has_ended(batch)
        return done

    def keep_reasons(self, tenant: str, acks: Sequence[Ack]) -> None:
        """Keep the reasons in *acks*, a bounded number, of items that are stored as failed; ack nothing."""
        Recorder(self._climber(), self._has_ended).keep_reasons(self._plan(tenant, acks))

    def bind_key(self, tenant: str, route: str, key: str, payload: str) -> None:
        """Hold an idempotency *key* to the *payload* that it first came with on a route.

        It is kept for a day at least. Raises KeyReused where it came with another payload. Open and add
        need none of it: their own rows remember their keys.
        """
        fingerprint = hashlib.sha256(payload.encode()).hexdigest()
        at = self.now()
        stored = self.store.remember(tenant, route, key, fingerprint, at, at + KEYS_KEPT)
        if stored != fingerprint:
            raise KeyReused("this Idempotency-Key was used for a request with another payload")

    def confirm(self, batch: Batch) -> None:
        """Note that the bus has the ending event of *batch*: from then on the sweeper has no part in it.

        Its parent is told first, in case a crash kept the one who ended it from that.
        """
        self.store.confirm(batch.key, batch.expires_at)
        self._tell_parent(batch)
        if batch.due_at is not None:
            self.store.postpone(batch, None)

    def sweep(self, has_time: Callable[[], bool] = lambda: True) -> Sweep:
        """End what is overdue, repair what a crash left, resend events that were not confirmed.

        *has_time*: whether another batch may be begun.
        """
        return Sweeper(self._climber(), self._has_ended, self.each, has_time).sweep()

    def longest_open(self) -> timedelta:
        """For how long the oldest live batch has been open; 0 without any."""
        return longest_open(self.store, self.now())

    def _climber(self) -> Climber:
        return Climber(self.store, self.now, self.pause)

    def _new(self, tenant: str, request: OpenBatch) -> Batch:
        """A batch that is not stored yet, under an id that was never used and never will be again."""
        if request.parent_item_id is not None:
            self._check_parent(tenant, request.parent_item_id)
        key = BatchKey(tenant, str(self.new_id()))
        return new_batch(key, request, self.page_bits, self.entropy(16), self.now())

    def _standing(self, tenant: str, batch_id: str) -> Batch | None:
        """The batch as it stands; None where it is over for good, whether its row is deleted or not."""
        batch = self.store.get(BatchKey(tenant, batch_id))
        batch = batch and self._ended_if_due(batch)
        return None if batch is None or self._is_over(batch) else batch

    def _check_parent(self, tenant: str, item_id: str) -> None:
        """A child names an item of a batch of its own tenant's, or it could never be told of its end."""
        ack = Ack.of(item_id, caller="")
        parent = self._known_batch(BatchKey(tenant, ack.batch_id))
        _, refusal = judge(parent, ack, self.now())
        if parent is not None and parent.mode is Mode.ESTIMATED:
            raise InvalidRequest("an estimated batch would count its child twice", field="parentItemId")
        if refusal:
            raise InvalidRequest("parentItemId names no item of a batch of yours", field="parentItemId")

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
        """The batch with all that never changes about it, and a state that is fresh enough."""
        now = self.now()
        read_at, batch = self._known.get(key, (now, None))
        if batch is not None and not batch.is_alive and batch.expires_at > now:
            return batch
        if batch is None or min(read_at + self.fresh_for, ends_at(batch)) <= now:
            batch = self.store.get(key)
            if batch is not None:
                batch = self._ended_if_due(batch)
                self._remember(batch)
        return batch

    def _ended_if_due(self, batch: Batch) -> Batch:
        """The batch as it stands, after its deadline or its time has ended it if either has come.

        Whoever finds it so writes it down: from then on nothing that is still under way brings it back.
        """
        return end_by_time(self._climber(), batch) if batch.is_alive else batch

    def _is_over(self, batch: Batch) -> bool:
        """Whether a batch that has ended is treated as gone, though its row may still be there."""
        kept = batch.is_alive or (batch.state is not State.EXPIRED and batch.expires_at > self.now())
        return not kept

    def _holding(self, key: BatchKey, pages: Mapping[int, PageMasks]) -> Batch:
        """The batch that has all items of *pages*; read anew where it has grown since it was known."""
        batch = self._known_batch(key)
        if batch is not None and not covers(batch, pages):
            batch = self.store.get(key)
        if batch is None:
            raise NotFound(f"there is no batch {key.batch_id}")
        if not covers(batch, pages):
            raise InvalidRequest(f"the pages hold items beyond the batch's {batch.total}", field="pages")
        return batch

    def _plan(self, tenant: str, acks: Sequence[Ack]) -> AckPlan:
        # The time before the look: a batch that was due by then was written down as ended by the look itself,
        # and one that comes due in between may still be kept alive by others; nobody is told it has expired.
        at = self.now()
        ids = batch_ids(acks)  # one look a request at each
        batches = self.each(lambda batch_id: self._known_batch(BatchKey(tenant, batch_id)), ids)
        return plan(acks, dict(zip(ids, batches, strict=True)).get, at)

    def _remember(self, batch: Batch) -> None:
        if len(self._known) >= CACHED_BATCHES:
            self._known.clear()
        self._known[batch.key] = (self.now(), batch)

    def _prolong(self, batch: Batch) -> None:
        """Let activity count, in a few writes a retention, however many acks there are.

        It does not put the sweeper off: a busy batch may be stuck, and an open one may be closed by now.
        """
        at = self.now()
        until = prolonged(batch, at) if batch.is_alive else None
        if until is None:
            return
        look_at = earliest(batch.due_at, due(batch, State.CLOSED, at, until))
        stored = self.store.extend(batch.key, until, look_at)
        if stored is not None:
            self._remember(stored)

    def _has_ended(self, batch: Batch) -> None:
        self._remember(batch)
        self._tell_parent(batch)

    def _tell_parent(self, batch: Batch) -> None:
        """A batch that has ended acks the item of its parent that it stands for, and so on outwards.

        A bounded number of levels at once: an ancestor that ends is due soon, and the sweeper goes on.
        """
        for _ in range(LEVELS_AT_ONCE):
            if batch.is_alive or batch.parent_item_id is None:
                return
            _, ended = self._record(batch.tenant, [word_of(batch, batch.parent_item_id)])
            if not ended:
                return
            (batch,) = ended

    def _record(self, tenant: str, acks: Sequence[Ack]) -> tuple[AckReport, tuple[Batch, ...]]:
        """Carry the acks out; the batches that were found to have ended are for the caller to pass on."""
        request = self._plan(tenant, acks)
        ended: dict[BatchKey, Batch] = {}
        recorder = Recorder(self._climber(), lambda batch: ended.update({batch.key: batch}), self.each)
        completions = recorder.record(request)
        self.each(self._prolong, request.batches())
        for batch in ended.values():
            self._remember(batch)
        return AckReport(request.results(), tuple(completions)), tuple(ended.values())

    @staticmethod
    def _need_exact(batch: Batch, what: str) -> None:
        if batch.mode is Mode.ESTIMATED:
            raise Conflict(f"an estimated batch counts its acks; it does not know {what}")


def _group(batch: Batch, receipt: Receipt) -> Group:
    return Group(str(GroupId.make(batch.salt, batch.batch_id, receipt.start, receipt.count)), receipt.count)


def _added(batch: Batch, receipt: Receipt, count: int) -> Added:
    if receipt.count != count:
        raise KeyReused("this Idempotency-Key was used for an add of another count")
    return Added(batch.batch_id, (_group(batch, receipt),), receipt.start + receipt.count)
