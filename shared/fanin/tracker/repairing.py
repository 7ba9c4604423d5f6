"""The tracker's repairs: reopen items of an ended batch, and remove the user data of ended batches."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from fanin.errors import Conflict, KeyReused, NotFound
from fanin.tracker.deleting import (
    DELETED_A_REQUEST,
    Deleted,
    check_deletable,
    ended_before,
    is_settled,
)
from fanin.tracker.ids import checked_batch_id
from fanin.tracker.listing import ListQuery, newest
from fanin.tracker.model import Batch, BatchKey, Position, State
from fanin.tracker.opening import under_key
from fanin.tracker.reading import Reader
from fanin.tracker.reopening import (
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
from fanin.tracker.sampling import SAMPLES


class Repairs(Reader):
    """Reopens and deletes ended batches; between the tracker's reads and its other writes."""

    def reopen(self, tenant: str, request: ReopenBatch, caller: str, key: str | None = None) -> Batch:
        """Return a new, closed batch of items of an ended one, or the one opened under this *key*.

        Its item *k* stands for the *k*-th of these items of the origin. Raises NotFound, Conflict if the
        origin is live, has no such items or is an estimated batch, and KeyReused.
        """
        held = None if key is None else self.store.named(tenant, key)
        create = partial(self._reopened, tenant, request, key)
        batch, _ = under_key(held, partial(self._standing, tenant), create)
        if batch.fingerprint != request.fingerprint:
            raise KeyReused("this Idempotency-Key was used for another request")
        if batch.state is not State.CLOSED:
            return batch
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
        of Step Functions still waits for it.
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
        found = [self.store.get(batch.key) for batch in page.batches if ended_before(batch, before)]
        ended = [batch for batch in found if batch is not None and ended_before(batch, before)]
        ready = [batch for batch in ended if is_settled(batch) and not self._waits(batch)]
        for batch in ready:
            self._deleted(batch)
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
        new = BatchKey(tenant, str(self.new_id()))
        size = (count, self.page_bits)
        origin = self._with_parent_if_all(origin, request)
        self.admit(tenant, new.batch_id)
        batch = reopened_batch(new, origin, request, size, self.entropy(16), self.now())
        return batch, self.store.create_reopened(batch, whole_group(batch), ranges, key, over)

    def _with_parent_if_all(self, origin: Batch, request: ReopenBatch) -> Batch:
        """Return *origin* without its parent item, unless *request* is for all its items that are not done.

        Otherwise the success of the new batch would heal the parent's item, while items are outstanding.
        """
        if origin.parent_item_id is None or request.items is ReopenItems.UNFINISHED:
            return origin
        return replace(origin, parent_item_id=None) if has_outstanding(self.store, origin) else origin

    def _waits(self, batch: Batch) -> bool:
        """Whether a task of Step Functions waits for the batch: its token is dropped when it has ended."""
        return batch.resumes and self.store.task_token(batch.key) is not None

    def _deleted(self, batch: Batch) -> Batch:
        """Remove the reasons, then the user data of the row: a crash between leaves a batch to be deleted."""
        if batch.failed or batch.healed:
            until = batch.pages_expire_at
            self.each(lambda slot: self.store.block_sample(batch.key, slot, until), range(SAMPLES))
        stored = self.store.delete(batch, self.now()) or batch
        self._remember(stored)
        return stored
