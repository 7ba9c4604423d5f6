"""The tracker's use cases: open, add, close, ack, read, end. Each may be repeated and run concurrently."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.tracker.acking import AckPlan, PageAcked, batch_ids, covers, judge, parent_ack, plan
from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, GroupId, checked_batch_id
from fanin.tracker.lifecycle import earliest, extended_expiry, first_check, transition
from fanin.tracker.model import (
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Group,
    Receipt,
    State,
)
from fanin.tracker.opening import new_batch, same_request, under_key
from fanin.tracker.options import Mode, OpenBatch
from fanin.tracker.page import PageMasks
from fanin.tracker.recording import Recorder, unless_newer
from fanin.tracker.repairing import Repairs
from fanin.tracker.sweeping import Sweep, Sweeper
from fanin.tracker.thresholds import counts_as_ack

logger = logging.getLogger("fanin")
ADD_ATTEMPTS = 10
LEVELS_AT_ONCE = 16
KEYS_KEPT = timedelta(days=1)
RANGE_MAX = 1_000_000
"""Items that one request may ack, summed over its ranges."""


@dataclass
class Tracker(Repairs):
    """Tracks batches of items, and reports exactly once when all items of a batch are done.

    *page_bits*: items in a page of a new batch, 2 to 1024. *fresh_for*: how long an ack may use a cached
    state of the batch before it reads the state again. The cached state decides only informational
    verdicts (``cancelled``, ``late``). *now*, *new_id*, *entropy*: the clock, and the sources of ids and
    salts. *pause*: waits between attempts. *each*: sends requests that do not depend on each other.
    *admit*: called with the tenant and the id of a batch that is about to be stored; raises QuotaExceeded.
    """

    def open(self, tenant: str, request: OpenBatch, key: str | None = None) -> Batch:
        """Open a batch, or return the batch that was opened under this idempotency *key*.

        Raises InvalidRequest if the parent is not an item of this tenant, KeyReused if the key was used
        with other options.
        """
        if key is None:
            return self.store.create(self._new(tenant, request), request.token)

        def create(over: str | None) -> tuple[Batch, str | None]:
            batch = self._new(tenant, request)
            return batch, self.store.create_under(batch, key, over, request.token)

        standing = partial(self._standing, tenant)
        batch, is_new = under_key(self.store.named(tenant, key), standing, create)
        return batch if is_new else same_request(batch, request)

    def add(self, tenant: str, batch_id: str, count: int, key: str | None = None) -> Added:
        """Reserve *count* items (1 to 2^36) in one group, or return the group that *key* reserved before.

        Raises InvalidRequest for a count out of bounds, NotFound, Conflict if the batch is not open, and
        KeyReused if the key was used with another count.
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
        raise StoreUnavailable("too many concurrent adds to the batch; repeat the request")

    def close(self, tenant: str, batch_id: str, caller: str) -> Closed:
        """Stop adds to the batch, and complete it if nothing is outstanding.

        Raises NotFound, and Conflict if fewer items were added than the batch expects.
        """
        seen = self.get(tenant, batch_id)
        change = transition(seen, State.CLOSED, self.now())
        # A close that is refused is not sent: a late copy of it would close the batch after the next add.
        is_refused = seen.state is State.OPEN and not change.admits(seen)
        batch = seen if is_refused else self.store.transition(seen.key, change)
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        if batch.state is State.OPEN:
            raise Conflict(
                f"the batch expects {batch.expected_items} items and has {batch.total}; add the rest first"
            )
        if batch.state is State.CLOSED:
            batch = self._climber().seal(batch, caller) or batch
        unless_newer(self._ack_parent)(batch)
        return Closed(batch, completed_by_caller=batch.completed_by == caller)

    def cancel(self, tenant: str, batch_id: str, reason: str | None = None) -> Batch:
        """Cancel the batch, unless it has already ended, and return it. Raises NotFound."""
        seen = self.get(tenant, batch_id)
        batch = self.store.transition(seen.key, transition(seen, State.CANCELLED, self.now(), reason=reason))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        unless_newer(self._ack_parent)(batch)
        return batch

    def end(self, tenant: str, batch_id: str, reason: str, by: str) -> Batch:
        """End the batch as FAILED, with the result ``forced``, unless it has already ended, and return it.

        *by*: the principal that asks for it; the row and the ending event name it. Raises NotFound.
        """
        seen = self.get(tenant, batch_id)
        change = transition(seen, State.FAILED, self.now(), reason=reason, by=by)
        batch = self.store.transition(seen.key, change)
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        if seen.is_alive and batch.ended_by == by:
            logger.warning("batch %s was ended by force", batch_id, extra={"batch_id": batch_id, "by": by})
        unless_newer(self._ack_parent)(batch)
        return batch

    def notify(self, tenant: str, batch_id: str) -> Batch:
        """Resend the ending event under the same id. Raises NotFound, and Conflict if the batch is live."""
        batch = self.get(tenant, batch_id)
        if batch.is_alive:
            raise Conflict("the batch has not ended; there is no event to send yet")
        self.store.notice(batch, self.now())
        return batch

    def ack(self, tenant: str, acks: Sequence[Ack]) -> AckReport:
        """Mark items done or failed, with one write for each page; an invalid item gets a verdict, no error.

        Raises InvalidRequest if the ranges cover more than a million items, TooManyBatches for more than
        100 batches, TooManyPages for more than 1,000 pages, or 250 with failures, and StoreUnavailable if
        the result is unknown. Every call may be repeated.
        """
        if sum(ack.size for ack in acks) > RANGE_MAX:
            raise InvalidRequest(f"one request acks at most {RANGE_MAX} items", field="acks")
        report, ended = self._record(tenant, acks)
        self.each(unless_newer(self._ack_parent), ended)
        return report

    def ack_pages(
        self, tenant: str, batch_id: str, pages: Mapping[int, PageMasks], caller: str
    ) -> Sequence[PageAcked]:
        """Mark folded acks of an exact batch: read all pages in one call, write each page once if needed.

        The caller has checked the item ids before it folded them. Raises NotFound, Conflict for an estimated
        batch, InvalidRequest for a bit beyond the batch's items, StoreUnavailable as ``ack`` does.
        """
        at = self.now()
        batch = self._holding(BatchKey(tenant, checked_batch_id(batch_id)), pages)
        self._need_exact(batch, "which items are acked")
        ended: dict[BatchKey, Batch] = {}
        recorder = Recorder(self._climber(), lambda batch: ended.update({batch.key: batch}), self.each)
        done = recorder.record_folded(batch, pages, caller, at)
        self._was_acked(batch)
        for batch in ended.values():
            self._has_ended(batch)
        return done

    def keep_reasons(self, tenant: str, acks: Sequence[Ack]) -> None:
        """Keep a bounded number of the reasons in *acks*, of items that are stored as failed; ack nothing."""
        Recorder(self._climber(), self._has_ended).keep_reasons(self._plan(tenant, acks))

    def bind_key(self, tenant: str, route: str, key: str, payload: str) -> None:
        """Bind an idempotency *key* on a route to the *payload* of its first use, for at least a day.

        Raises KeyReused if the key was used with another payload. Open and add do not use it, because their
        own rows keep their keys.
        """
        fingerprint = hashlib.sha256(payload.encode()).hexdigest()
        at = self.now()
        stored = self.store.remember(tenant, route, key, fingerprint, at, at + KEYS_KEPT)
        if stored != fingerprint:
            raise KeyReused("this Idempotency-Key was used for a request with another payload")

    def confirm(self, batch: Batch) -> None:
        """Record that the bus has the ending event of *batch*, and remove the batch from the sweeper's list.

        The item of the parent batch is acked first, in case the process that ended the batch crashed before.
        """
        self.store.confirm(batch.key, batch.expires_at)
        self._ack_parent(batch)
        if batch.next_check_at is not None:
            self.store.postpone(batch, None)

    def sweep(self, has_time: Callable[[], bool] = lambda: True) -> Sweep:
        """End overdue batches, repair what a crash left, resend events that were not confirmed.

        *has_time*: whether there is time for another batch.
        """
        return Sweeper(self._climber(), self._has_ended, self.each, has_time).sweep()

    def _new(self, tenant: str, request: OpenBatch) -> Batch:
        """Return a batch that is not stored yet, under a new id."""
        if request.parent_item_id is not None:
            self._check_parent(tenant, request.parent_item_id)
        key = BatchKey(tenant, str(self.new_id()))
        self.admit(tenant, key.batch_id)
        return new_batch(key, request, self.page_bits, self.entropy(16), self.now())

    def _check_parent(self, tenant: str, item_id: str) -> None:
        """Raise InvalidRequest unless *item_id* is an item of an exact batch of this tenant."""
        ack = Ack.of(item_id, caller="")
        parent = self._known_batch(BatchKey(tenant, ack.batch_id))
        _, refusal = judge(parent, ack, self.now())
        if parent is not None and parent.mode is Mode.ESTIMATED:
            raise InvalidRequest("an estimated batch would count its child twice", field="parentItemId")
        if refusal:
            raise InvalidRequest("parentItemId names no item of a batch of yours", field="parentItemId")

    def _reserve(self, batch: Batch, receipt_key: str, count: int) -> Receipt | None:
        """Return the reservation under this key, made now or before; None if the batch has changed."""
        if batch.state is not State.OPEN:
            return self._earlier(batch, receipt_key)
        if batch.total + count > TOTAL_MAX:
            raise InvalidRequest(f"a batch holds at most {TOTAL_MAX} items", field="count")
        receipt = Receipt(receipt_key, batch.total, count)
        return self.store.reserve(batch, receipt, _group(batch, receipt))

    def _earlier(self, batch: Batch, receipt_key: str) -> Receipt:
        """Return the reservation of an earlier attempt; raise Conflict if there is none."""
        receipt = self.store.receipt(batch.key, receipt_key)
        if receipt is None:
            raise Conflict(f"batch {batch.batch_id} is {batch.state}; items are added while it is OPEN")
        return receipt

    def _holding(self, key: BatchKey, pages: Mapping[int, PageMasks]) -> Batch:
        """Return the batch that holds all items of *pages*, read again if it has grown since."""
        batch = self._known_batch(key)
        if batch is not None and not covers(batch, pages):
            batch = self.store.get(key)
        if batch is None:
            raise NotFound(f"there is no batch {key.batch_id}")
        if not covers(batch, pages):
            raise InvalidRequest(f"the pages hold items beyond the batch's {batch.total}", field="pages")
        return batch

    def _plan(self, tenant: str, acks: Sequence[Ack]) -> AckPlan:
        # The time before the read: a batch that had expired by then was ended by the read itself. One that
        # expires later may have been extended by others, so no ack gets the verdict `expired` for it.
        at = self.now()
        ids = batch_ids(acks)  # each batch is read once in a request
        batches = self.each(lambda batch_id: self._known_batch(BatchKey(tenant, batch_id)), ids)
        return plan(acks, dict(zip(ids, batches, strict=True)).get, at)

    def _prolong(self, batch: Batch) -> None:
        """Extend the expiry of an active batch, in a few writes for each retention.

        The next check is not put off: a batch with activity can be stuck, and an open one may be closed now.
        """
        at = self.now()
        until = extended_expiry(batch, at) if batch.is_alive else None
        if until is None:
            return
        check_at = earliest(batch.next_check_at, first_check(batch, State.CLOSED, at, until))
        stored = self.store.extend(batch.key, until, check_at)
        if stored is not None:
            self._remember(stored)

    def _was_acked(self, batch: Batch) -> None:
        """Record the time of an ack in a batch that asks for stalls, and extend its expiry."""
        at = self.now()
        stored = self.store.record_ack(batch.key, at) if counts_as_ack(batch, at) else None
        if stored is not None:
            self._remember(stored)
        self._prolong(stored or batch)

    def _has_ended(self, batch: Batch) -> None:
        self._remember(batch)
        self._ack_parent(batch)

    def _ack_parent(self, batch: Batch) -> None:
        """Ack the item of the parent batch for a batch that has ended, and go on with the parent if it ends.

        At most 16 levels in one call; the sweeper continues from an ancestor that ended.
        """
        for _ in range(LEVELS_AT_ONCE):
            if batch.is_alive or batch.parent_item_id is None:
                return
            _, ended = self._record(batch.tenant, [parent_ack(batch, batch.parent_item_id)])
            if not ended:
                return
            (batch,) = ended

    def _record(self, tenant: str, acks: Sequence[Ack]) -> tuple[AckReport, tuple[Batch, ...]]:
        """Write the acks; return the report, and the batches that have ended: parents are not acked yet."""
        request = self._plan(tenant, acks)
        ended: dict[BatchKey, Batch] = {}
        recorder = Recorder(self._climber(), lambda batch: ended.update({batch.key: batch}), self.each)
        completions = recorder.record(request)
        self.each(self._was_acked, request.batches())
        for batch in ended.values():
            self._remember(batch)
        return AckReport(request.results(), tuple(completions)), tuple(ended.values())


def _group(batch: Batch, receipt: Receipt) -> Group:
    return Group(str(GroupId.make(batch.salt, batch.batch_id, receipt.start, receipt.count)), receipt.count)


def _added(batch: Batch, receipt: Receipt, count: int) -> Added:
    if receipt.count != count:
        raise KeyReused("this Idempotency-Key was used for an add of another count")
    return Added(batch.batch_id, (_group(batch, receipt),), receipt.start + receipt.count)
