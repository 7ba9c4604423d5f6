"""The tracker's repairs: reopen items of an ended batch, and remove the user data of ended batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from fanin.errors import Conflict, InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.item_ids import ItemId
from fanin.tracker.batch_changes.deleting import (
    DELETED_A_REQUEST,
    Deleted,
    check_deletable,
    ended_before,
    is_settled,
)
from fanin.tracker.batch_changes.opening import key_of_ended, under_key
from fanin.tracker.batch_changes.reopening import (
    OriginSlice,
    ReopenBatch,
    ReopenItems,
    check_origin,
    count_of,
    has_outstanding,
    origin_slice,
    reopened_batch,
    unfinished,
    whole_group,
)
from fanin.tracker.reads.failure_reasons import SAMPLES
from fanin.tracker.reads.listing import ListQuery, newest
from fanin.tracker.reads.reading import Reader
from fanin.tracker.rules.acking import judge
from fanin.tracker.rules.children import CHILDREN_MAX, Children, has_failed
from fanin.tracker.rules.ids import checked_batch_id
from fanin.tracker.rules.lifecycle import unless_ended
from fanin.tracker.rules.model import Ack, Batch, BatchKey, ItemKey, PageKey, Position, Verdict
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page
from fanin.tracker.store import TrackerStore

FIELD = "parentItemId"
REFUSALS = {
    Verdict.NOT_FOUND: "is in no batch of this tenant",
    Verdict.OUT_OF_RANGE: "is beyond the last item of its group",
    Verdict.EXPIRED: "is of a batch that has expired",
}


def check_takes_child(
    store: TrackerStore, item_id: str, parent: Batch | None, replaced: Sequence[str], at: datetime
) -> None:
    """Raise InvalidRequest unless *item_id* is an item of *parent*, and Conflict unless it takes a child.

    *replaced*: batches in whose place the child may be.
    """
    batch, item = _item_of(item_id, parent, at)
    note_ends(store, item, replaced)
    if _is_done(store, batch, item):
        raise Conflict(f"item {item_id} is done and takes no child: open all of its children before one ends")
    children = store.children(item)
    if children is not None and not children.admits(replaced):
        raise Conflict(f"item {item_id} takes no other child: {_why(children)}")


def _item_of(item_id: str, parent: Batch | None, at: datetime) -> tuple[Batch, ItemKey]:
    """Return the live batch of an item, and the item."""
    ack = Ack.of(item_id, caller="")
    start, refusal = judge(parent, ack, at)
    if parent is None or refusal is not None:
        raise InvalidRequest(f"item {item_id} {REFUSALS[refusal or Verdict.NOT_FOUND]}", field=FIELD)
    if parent.mode is Mode.ESTIMATED:
        raise InvalidRequest("an estimated batch would count the child of an item twice", field=FIELD)
    if not parent.is_alive:
        raise Conflict(f"batch {parent.batch_id} is {parent.state}, so its items take no child")
    return parent, ItemKey(parent.key, start + ack.first)


def note_ends(store: TrackerStore, item: ItemKey, batch_ids: Sequence[str]) -> None:
    """Note the ends of children of *item*: the processes that ended them may have crashed before."""
    for batch_id in batch_ids:
        child = store.get(BatchKey(item.batch.tenant, batch_id))
        if child is not None and not child.is_alive and child.parent == item:
            store.end_child(item, batch_id, has_failed(child))


def _is_done(store: TrackerStore, batch: Batch, item: ItemKey) -> bool:
    """Whether the item is acked as done; a failed one can be healed by a child."""
    number, bit = divmod(item.position, batch.shape.leaf)
    key = PageKey(item.batch, 0, number)
    page = store.pages([key]).get(key, Page())
    return not page.unset(1 << bit) and not page.failed >> bit & 1


def _why(children: Children) -> str:
    if not children.has_room:
        return f"{CHILDREN_MAX} of its children are live, or have failed"
    return (
        "its children have ended. Open all of them before one ends; in place of one that failed, reopen that"
        " one, or open a batch under its key with the same options"
    )


def _used_for(batch: Batch, request: ReopenBatch, key: str | None) -> str:
    """Return what *key* was used for before *request*, and what to do."""
    use = f"to reopen batch {batch.origin_batch_id}, as batch {batch.batch_id}"
    if batch.origin_batch_id is None:
        use = f"to open batch {batch.batch_id}"
    elif batch.origin_batch_id == request.origin_batch_id:
        use += ", for other items or with other options"
    return f"idempotency key {key!r} was used {use}: repeat that request unchanged, or use a new key"


class Repairs(Reader):
    """Reopens and deletes ended batches; between the tracker's reads and its other writes."""

    def reopen(self, tenant: str, request: ReopenBatch, caller: str, key: str | None = None) -> Batch:
        """Return a new, closed batch of items of an ended one, or the one opened under this *key*.

        Its item *k* stands for the *k*-th of these items of the origin. Raises NotFound, Conflict if the
        origin is live, has no such items or is an estimated batch, KeyReused, and BatchEnded if the batch of
        the key has ended.
        """
        held = None if key is None else self.store.named(tenant, key)
        create = partial(self._reopened, tenant, request, key)
        batch, _ = under_key(held, partial(self._standing, tenant), create)
        if batch.fingerprint != request.fingerprint:
            raise KeyReused(_used_for(batch, request, key))
        unless_ended(batch, key_of_ended(batch))
        return self._climber().seal(batch, caller) or batch

    def origin(self, batch: Batch, at: tuple[int, int] = (0, 0), limit: int = 1000) -> OriginSlice:
        """Return the items that a reopened *batch* stands for, as ranges of its origin, in order.

        *at*: an item of the origin, and its rank. Raises NotFound if the origin is over, and Conflict if
        the batch is not a reopened one.
        """
        if batch.origin_batch_id is None:
            raise Conflict(f"batch {batch.batch_id} was not reopened from another one")
        origin = self.get(batch.tenant, batch.origin_batch_id)
        return origin_slice(self.store, origin, self.store.origin_ranges(batch.key), at, limit)

    def delete(self, tenant: str, batch_id: str) -> Batch:
        """Remove the user data of an ended batch; it is not found from then on. It may be repeated.

        Raises NotFound, and Conflict if the batch is live, its ending event is not confirmed yet, or a task
        or durable function still waits for it.
        """
        batch = self.store.get(BatchKey(tenant, checked_batch_id(batch_id)))
        if batch is None:
            raise NotFound(f"there is no batch {batch_id}")
        batch = self._ended_if_due(batch)
        check_deletable(batch, self._waits(batch))
        return self._deleted(batch)

    def delete_ended(self, tenant: str, before: datetime, after: Position | None = None) -> Deleted:
        """Delete the tenant's batches that ended before *before*, as far as one part of its list goes.

        *after*: the position that the part before returned. The list is eventually consistent.
        """
        query = ListQuery(limit=DELETED_A_REQUEST, after=min(after or (before, ""), (before, "")))
        page = newest(self.store, tenant, query)
        listed = [batch.key for batch in page.batches if ended_before(batch, before)]
        found = self.each(self.store.get, listed)
        ended = [batch for batch in found if batch is not None and ended_before(batch, before)]
        ready = [batch for batch in ended if self._is_ready(batch)]
        self.each(self._deleted, ready)
        return Deleted(len(ready), len(ended) - len(ready), page.resume)

    def _reopened(
        self, tenant: str, request: ReopenBatch, key: str | None, over: str | None
    ) -> tuple[Batch, str | None]:
        """Store a new batch for *request*, unless *key* stands for another than *over* by now."""
        origin = self.get(tenant, request.origin_batch_id)
        self._need_exact(origin, "which items failed")
        check_origin(origin, min(origin.total, 1), request.items)
        ranges = unfinished(self.store, origin) if request.items is ReopenItems.UNFINISHED else None
        count = origin.failed if ranges is None else count_of(ranges)
        check_origin(origin, count, request.items)
        self.results_of(origin)
        new = BatchKey(tenant, str(self.new_id()))
        size = (count, self.page_bits)
        origin = self._with_parent_to_heal(origin, request, over)
        self.admit(tenant, new.batch_id)
        batch = reopened_batch(new, origin, request, size, self.entropy(16), self.now())
        return batch, self.store.create_reopened(batch, whole_group(batch), ranges, key, over)

    def _with_parent_to_heal(self, origin: Batch, request: ReopenBatch, over: str | None) -> Batch:
        """Return *origin* without its parent item, unless the success of the new batch should heal that.

        The item has to take a child in place of the origin, and *request* to be for all items of the origin
        that are not done.
        """
        if origin.parent_item_id is None:
            return origin
        is_part = request.items is not ReopenItems.UNFINISHED and has_outstanding(self.store, origin)
        try:
            self._check_parent(origin.tenant, origin.parent_item_id, origin.batch_id, over)
        except (Conflict, InvalidRequest):
            is_part = True
        return replace(origin, parent_item_id=None) if is_part else origin

    def _check_parent(self, tenant: str, item_id: str, *replaced: str | None) -> None:
        """Raise InvalidRequest or Conflict unless *item_id* takes a child, in place of a batch or not."""
        parent = self.store.get(BatchKey(tenant, ItemId.parse(item_id).batch_id))
        parent = parent and self._ended_if_due(parent)
        batch_ids = [batch_id for batch_id in replaced if batch_id is not None]
        check_takes_child(self.store, item_id, parent, batch_ids, self.now())

    def _is_ready(self, batch: Batch) -> bool:
        """Whether an ended batch can be deleted now; without a bucket, its results would stay."""
        has_bucket = self.results is not None or batch.results_until is None
        return has_bucket and is_settled(batch) and not self._waits(batch)

    def _waits(self, batch: Batch) -> bool:
        """Whether a task or durable function waits for the batch: its token is dropped when it has ended."""
        return batch.resumes and self.store.task_token(batch.key) is not None

    def _deleted(self, batch: Batch) -> Batch:
        """Remove the reasons, the user data of the row, then the results; a repetition removes what is left.

        So does the sweep, at the check that the row has then. Raises StoreUnavailable while results are left.
        """
        kept = self.results_of(batch)
        if batch.failed or batch.healed:
            self.store.block_samples(batch.key, range(SAMPLES), batch.pages_expire_at)
        stored = self.store.delete(batch, self.now()) or batch
        self._remember(stored)
        if kept is not None and not kept.delete(batch.key):
            raise StoreUnavailable(f"some results of batch {batch.batch_id} are left; repeat the request")
        return stored
