"""The tracker's use cases: open, add, close, ack, read, end. Each may be repeated and run concurrently."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.tracker.batch_changes.caps import check_room
from fanin.tracker.batch_changes.cascading import CANCELS_A_REQUEST, Cascade
from fanin.tracker.batch_changes.opening import is_of, key_of_ended, new_batch, same_request, under_key
from fanin.tracker.batch_changes.recording import Recorder, unless_newer
from fanin.tracker.batch_changes.repairing import Repairs
from fanin.tracker.batch_changes.sweeping import Sweep, Sweeper
from fanin.tracker.rules.acking import AckPlan, PageAcked, batch_ids, covers, payload_of, plan
from fanin.tracker.rules.children import Children, has_failed, parent_ack
from fanin.tracker.rules.ids import COUNT_MAX, GroupId, checked_batch_id
from fanin.tracker.rules.lifecycle import (
    CHECK_CHILD_AFTER,
    earliest,
    extended_expiry,
    first_check,
    transition,
    unless_ended,
)
from fanin.tracker.rules.model import (
    ALL_DONE,
    ENOUGH,
    Ack,
    AckReport,
    Added,
    Batch,
    BatchKey,
    Closed,
    Group,
    PageKey,
    Receipt,
    State,
)
from fanin.tracker.rules.options import Mode, OpenBatch
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import counts_as_ack

logger = logging.getLogger("fanin")
ADD_ATTEMPTS = 10
LEVELS_AT_ONCE = 16
KEYS_KEPT = timedelta(days=1)
WHILE_OPEN = "items are added while it is OPEN"
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
    *results*: keeps the results of batches that ask for it.
    """

    def open(self, tenant: str, request: OpenBatch, key: str | None = None) -> Batch:
        """Open a batch, or return the batch that was opened under this idempotency *key*.

        The key of a child that has failed opens another one in its place. Raises InvalidRequest if the parent
        is not an item of this tenant, Conflict if that takes no child, because it is done, its children have
        ended or its batch has, KeyReused if the key was used with other options, and BatchEnded if the batch
        of the key has ended.
        """

        def create(over: str | None) -> tuple[Batch, str | None]:
            batch = self._new(tenant, request, over)
            if key is not None:
                return batch, self.store.create_under(batch, key, over, request.token)
            stored = self.store.create(batch, request.token)
            return batch, None if stored is None else stored.batch_id

        held = None if key is None else self.store.named(tenant, key)
        batch, is_new = under_key(held, partial(self._stands, tenant, request), create)
        if is_new:
            return batch
        return unless_ended(same_request(batch, request, key), key_of_ended(batch))

    def add(self, tenant: str, batch_id: str, count: int, key: str | None = None) -> Added:
        """Reserve *count* items (1 to 2^36) in one group, or return the group that *key* reserved before.

        Raises InvalidRequest for a count out of bounds, NotFound, Conflict if the batch is closed or the add
        would pass a cap of it, BatchEnded if it has ended, and KeyReused if the key was used with another
        count. The group of an earlier request is returned unless the batch has ended before its items were
        done.
        """
        if not 1 <= count <= COUNT_MAX:
            raise InvalidRequest(f"count goes from 1 to {COUNT_MAX}", field="count")
        receipt_key = hashlib.sha256((key or self.new_id().hex).encode()).hexdigest()
        for attempt in range(ADD_ATTEMPTS):
            batch = self.get(tenant, batch_id)
            receipt = self._reserve(batch, receipt_key, count)
            if receipt is not None:
                self._prolong(batch)
                return _added(batch, receipt, count, key)
            self.pause(attempt)
        raise StoreUnavailable("too many concurrent adds to the batch; repeat the request")

    def close(self, tenant: str, batch_id: str, caller: str, key: str | None = None) -> Closed:
        """Stop adds to the batch, and complete it if nothing is outstanding.

        Raises NotFound, Conflict if fewer items were added than the batch expects, BatchEnded if it has ended
        before its items were done, and KeyReused.
        """
        self.bind_key(tenant, "close", key, batch_id)
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
        self._remember(batch)
        self._ack_readable_parents([batch])
        unless_ended(batch, "it does not complete", *ALL_DONE, ENOUGH)
        return Closed(batch, completed_by_caller=batch.completed_by == caller)

    def cancel(
        self,
        tenant: str,
        batch_id: str,
        reason: str | None = None,
        key: str | None = None,
        children: bool = False,
    ) -> Batch:
        """Cancel the batch, and return it; with *children*, each live batch below it, too.

        The first hundred of them end before this returns, and the sweep cancels the others. Raises NotFound,
        BatchEnded if the batch has ended otherwise, and KeyReused.
        """
        self.bind_key(tenant, "cancel", key, f"{batch_id}\n{reason or ''}" + "\nchildren" * children)
        batch = self._cancelled(self.get(tenant, batch_id), reason, children)
        self._remember(batch)
        self._ack_readable_parents([batch])
        unless_ended(batch, "it was not cancelled", "cancelled")
        if children:
            Cascade(self.store, self.now, self._has_ended, self.each, CANCELS_A_REQUEST).run(batch)
        return batch

    def end(self, tenant: str, batch_id: str, reason: str, by: str, key: str | None = None) -> Batch:
        """End the batch as FAILED, with the result ``forced``, and return it.

        *by*: the principal that asks for it; the row and the ending event name it. Raises NotFound,
        BatchEnded if it has ended otherwise, and KeyReused.
        """
        self.bind_key(tenant, "end", key, f"{batch_id}\n{reason}")
        seen = self.get(tenant, batch_id)
        change = transition(seen, State.FAILED, self.now(), reason=reason, by=by)
        batch = self.store.transition(seen.key, change)
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        if seen.is_alive and batch.ended_by == by:
            logger.warning("batch %s was ended by force", batch_id, extra={"batch_id": batch_id, "by": by})
        self._remember(batch)
        self._ack_readable_parents([batch])
        return unless_ended(batch, "its end was not forced", "forced")

    def notify(self, tenant: str, batch_id: str, key: str | None = None) -> Batch:
        """Resend the ending event. Raises NotFound, Conflict if the batch is live, and KeyReused."""
        self.bind_key(tenant, "notify", key, batch_id)
        batch = self.get(tenant, batch_id)
        if batch.is_alive:
            raise Conflict("the batch has not ended; there is no event to send yet")
        self.store.notice(batch, self.now())
        return batch

    def ack(self, tenant: str, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        """Mark items done or failed, with one write for each page; an invalid item gets a verdict, no error.

        Raises InvalidRequest if the ranges cover more than a million items, TooManyBatches for more than
        100 batches, TooManyPages for more than 1,000 pages, or 250 with failures, KeyReused, and
        StoreUnavailable if the result is unknown. Every call may be repeated.
        """
        if sum(ack.size for ack in acks) > RANGE_MAX:
            raise InvalidRequest(f"one request acks at most {RANGE_MAX} items", field="acks")
        if key is not None:
            self.bind_key(tenant, "acks", key, payload_of(acks))
        report, ended = self._record(tenant, acks)
        self._ack_readable_parents(ended)
        return report

    def verdicts(self, tenant: str, acks: Sequence[Ack]) -> AckReport:
        """Return the verdict that each of *acks* would get now, if it was the only one; nothing is written.

        All pages are read at once, consistently. Raises what ``ack`` does.
        """
        request = self._plan(tenant, acks)
        if request.kept_results():
            self.result_store()
        pages = [(PageKey(page.batch.key, 0, page.number), page) for page in request.pages.values()]
        stored = self.store.pages({key for key, page in pages if page.batch.mode is Mode.EXACT})
        for key, page in pages:
            request.foresee(page, stored.get(key, Page()))
        return AckReport(request.results(), ())

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
        recorder = Recorder(self._climber(), self.each)
        acked = recorder.record_folded(batch, pages, caller, at)
        self._was_acked(batch)
        for batch in recorder.ended.values():
            self._has_ended(batch)
        return acked

    def keep_reasons(self, tenant: str, acks: Sequence[Ack]) -> None:
        """Keep a bounded number of the reasons in *acks*, of items that are stored as failed; ack nothing."""
        Recorder(self._climber()).keep_reasons(self._plan(tenant, acks))

    def keep_results(self, tenant: str, acks: Sequence[Ack]) -> None:
        """Keep the results in *acks* of batches that keep them, before other requests ack these items."""
        self._keep_results(self._plan(tenant, acks, needs_kept_results=False))

    def bind_key(self, tenant: str, route: str, key: str | None, payload: str) -> None:
        """Bind an idempotency *key* on a route to the *payload* of its first use, for at least a day.

        Raises KeyReused if the key was used with another payload; without a key nothing is read or written.
        Open and add do not use it, because their own rows keep their keys.
        """
        if key is None:
            return
        fingerprint = hashlib.sha256(payload.encode()).hexdigest()
        at = self.now()
        stored = self.store.remember(tenant, route, key, fingerprint, at, at + KEYS_KEPT)
        if stored != fingerprint:
            raise KeyReused(
                f"idempotency key {key!r} was used for a request with another payload ({route}): repeat that"
                " one unchanged, or use a new key"
            )

    def confirm(self, batch: Batch) -> None:
        """Record that the bus has the ending event of *batch*, and remove the batch from the sweeper's list.

        The item of the parent batch is acked first, in case the process that ended the batch crashed before.
        A batch whose children are cancelled stays in the list until a sweep finds none that is live.
        """
        self.store.confirm(batch.key, batch.confirmed_until)
        self._ack_parents([batch], self._parent_ack)
        if batch.next_check_at is not None and not batch.cancels_children:
            self.store.postpone(batch, batch.results_until)

    def sweep(self, has_time: Callable[[], bool] = lambda: True) -> Sweep:
        """End overdue batches, repair what a crash left, resend events that were not confirmed.

        *has_time*: whether there is time for another batch.
        """
        return Sweeper(self._climber(), self._has_ended, self.each, has_time, self.results).sweep()

    def _cancelled(self, seen: Batch, reason: str | None, children: bool) -> Batch:
        """Cancel a batch, also one that was cancelled without its *children*; return the stored batch."""
        change = transition(seen, State.CANCELLED, self.now(), reason=reason, children=children)
        batch = self.store.transition(seen.key, change)
        if batch is not None and children and batch.may_cancel_children:
            batch = self.store.cancel_children(seen.key, self.now() + CHECK_CHILD_AFTER)
        if batch is None:
            raise NotFound(f"there is no batch {seen.batch_id}")
        return batch

    def _new(self, tenant: str, request: OpenBatch, over: str | None) -> Batch:
        """Return a batch that is not stored yet, under a new id. *over*: the batch whose key it takes."""
        if request.parent_item_id is not None:
            self._check_parent(tenant, request.parent_item_id, over)
        self.results_of(request)
        key = BatchKey(tenant, str(self.new_id()))
        self.admit(tenant, key.batch_id)
        return new_batch(key, request, self.page_bits, self.entropy(16), self.now())

    def _stands(self, tenant: str, request: OpenBatch, batch_id: str) -> Batch | None:
        """Return the batch that a key stands for; None if it is over, or a failed child of this request."""
        batch = self._standing(tenant, batch_id)
        if batch is None or batch.parent_item_id is None or not has_failed(batch):
            return batch
        return None if is_of(batch, request) else batch

    def _reserve(self, batch: Batch, receipt_key: str, count: int) -> Receipt | None:
        """Return the reservation under this key, made now or before; None if the batch has changed."""
        if batch.state is not State.OPEN:
            return self._earlier(batch, receipt_key)
        try:
            check_room(batch, count)
        except (Conflict, InvalidRequest):
            earlier = self.store.receipt(batch.key, receipt_key)
            if earlier is None:
                raise
            return earlier
        receipt = Receipt(receipt_key, batch.total, count)
        return self.store.reserve(batch, receipt, _group(batch, receipt))

    def _earlier(self, batch: Batch, receipt_key: str) -> Receipt:
        """Return the reservation of an earlier attempt.

        Raises Conflict if there is none, and BatchEnded if its items need no work any more and are not done.
        """
        receipt = self.store.receipt(batch.key, receipt_key)
        unless_ended(batch, WHILE_OPEN, *(() if receipt is None else ALL_DONE))
        if receipt is None:
            raise Conflict(f"batch {batch.batch_id} is {batch.state}; {WHILE_OPEN}")
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

    def _plan(self, tenant: str, acks: Sequence[Ack], needs_kept_results: bool = True) -> AckPlan:
        # The time before the read: a batch that had expired by then was ended by the read itself. One that
        # expires later may have been extended by others, so no ack gets the verdict `expired` for it.
        at = self.now()
        ids = batch_ids(acks)  # each batch is read once in a request
        batches = self.each(lambda batch_id: self._known_batch(BatchKey(tenant, batch_id)), ids)
        return plan(acks, dict(zip(ids, batches, strict=True)).get, at, needs_kept_results)

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
        stored = self.store.record_ack_time(batch.key, at) if counts_as_ack(batch, at) else None
        if stored is not None:
            self._remember(stored)
        self._prolong(stored or batch)

    def _has_ended(self, batch: Batch) -> None:
        self._remember(batch)
        self._ack_parents([batch], self._parent_ack)

    def _ack_readable_parents(self, ended: Sequence[Batch]) -> None:
        """Ack the items of the parents of *ended*, but for parents that a newer release wrote."""
        self._ack_parents(ended, unless_newer(self._parent_ack))

    def _ack_parents(self, ended: Sequence[Batch], ack_of: Callable[[Batch], Ack | None]) -> None:
        """Ack the items that batches of a tenant stood for, and go on with those of their parents that end.

        One request a level, which heals first. At most 16 levels in one call; the sweeper continues from an
        ancestor that ended.
        """
        for _ in range(LEVELS_AT_ONCE):
            acks = [ack for ack in self.each(ack_of, ended) if ack is not None]
            if not acks:
                return
            _, ended = self._record(ended[0].tenant, acks)

    def _parent_ack(self, batch: Batch) -> Ack | None:
        """Return the ack of the item that a batch stood for, if it was the last of its children to end.

        Raises NewerSchema if the parent is one, before anything is written to its rows.
        """
        if batch.is_alive or batch.parent is None or self._known_batch(batch.parent.batch) is None:
            return None
        children = self.store.end_child(batch.parent, batch.batch_id, has_failed(batch))
        children = children or Children().after_end(batch.batch_id, has_failed(batch))
        if children.live:
            return None
        failed = children.named_failure(batch.batch_id) or batch.batch_id
        named = batch if failed == batch.batch_id else self.store.get(BatchKey(batch.tenant, failed))
        return parent_ack(batch, children, None if named is None else named.result)

    def _record(self, tenant: str, acks: Sequence[Ack]) -> tuple[AckReport, tuple[Batch, ...]]:
        """Write the acks; return the report, and the batches that have ended: parents are not acked yet."""
        request, recorder = self._plan(tenant, acks), Recorder(self._climber(), self.each)
        self._keep_results(request)
        recorder.record(request)
        self.each(self._was_acked, request.batches())
        ended = tuple(recorder.ended.values())
        for batch in ended:
            self._remember(batch)
        return AckReport(request.results(), request.completions(ended)), ended

    def _keep_results(self, request: AckPlan) -> None:
        """Write the results in *request*, before anything is acked: an item that is done has its result.

        A batch that was known as live is read again after that: of one that has ended meanwhile no item is
        acked, because the end has fixed the results.
        """
        kept = request.kept_results()
        if kept:
            self.each(lambda key: self.result_store().keep(key, kept[key]), list(kept))
        if self.fresh_for:
            request.see(batch for batch in self.each(self._read, list(kept)) if batch is not None)


def _group(batch: Batch, receipt: Receipt) -> Group:
    return Group(str(GroupId.make(batch.salt, batch.batch_id, receipt.start, receipt.count)), receipt.count)


def _added(batch: Batch, receipt: Receipt, count: int, key: str | None) -> Added:
    if receipt.count != count:
        raise KeyReused(
            f"idempotency key {key!r} was used in batch {batch.batch_id} for an add of {receipt.count}"
            f" items, not {count}: add the same rows, or open a batch for others under a new key, and cancel"
            " this one if it is not wanted any more"
        )
    return Added(batch.batch_id, (_group(batch, receipt),), receipt.start + receipt.count)
