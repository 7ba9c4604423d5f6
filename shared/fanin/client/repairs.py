"""The client's repairs: reopen items of an ended batch, force an end, delete ended batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

from fanin.client.batch import Batch
from fanin.client.checking import (
    batch_id_given,
    counted,
    deadline_of,
    key_or_fresh,
    reason_given,
    text_or_none,
)
from fanin.client.items import Items
from fanin.client.model import Cancelled, Deleted
from fanin.client.naming import named_as_arguments
from fanin.client.paging import pages
from fanin.client.transport import Transport
from fanin.errors import FaninError, InvalidRequest
from fanin.tracker import GroupId
from fanin.tracker.reopening import ReopenBatch, ReopenItems

if TYPE_CHECKING:
    from fanin.client.fanin import Fanin


class Reopened(Batch):
    """A new batch of items of an ended one, *origin_batch_id*. It is closed, and *items* are all its ids."""

    def __init__(self, fanin: Fanin, items: Items, origin_batch_id: str, key: str) -> None:
        super().__init__(fanin, items.batch_id, key)
        self.items = items
        self.origin_batch_id = origin_batch_id

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (id of the origin's item, id of the new item), in order; see :meth:`Fanin.pairs`."""
        return self._fanin.pairs(self.id)


class Repairs:
    """The repairs of :class:`Fanin`."""

    _transport: Transport

    def reopen(
        self,
        batch_id: str,
        *,
        items: ReopenItems | str = ReopenItems.FAILED,
        user_key: str | None = None,
        deadline: timedelta | None = None,
        max_failures: int | None = None,
        labels: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Reopened:
        """Open a new batch for the failed *items* of an ended one, or for all that are ``unfinished``.

        Options that are not given are those of the origin. Raises NotFound, and Conflict if the batch is
        live or has no such items.
        """
        with named_as_arguments():
            request = ReopenBatch(
                origin_batch_id=batch_id_given(batch_id),
                items=_items_of(items),
                user_key=text_or_none(user_key, "a user key", "userKey"),
                labels=labels,
                deadline=deadline_of(deadline),
                max_failures=counted(max_failures, "maxFailures", 1),
            )
        key = key_or_fresh(key)
        return Reopened(cast("Fanin", self), self._transport.reopen(request, key), batch_id, key)

    def pairs(self, batch_id: str) -> Iterator[tuple[str, str]]:
        """Yield (id of the origin's item, id of the new item) of a reopened batch, one request a page.

        Raises NotFound when the origin is no longer kept, Conflict if the batch was not reopened from
        another one, and FaninError at the end if the pairs are not as many as the items.
        """
        yielded, total = 0, -1
        for page in pages(self._transport.origin, batch_id_given(batch_id)):
            for old, new in page.pairs:
                yield from zip(old, new, strict=True)
                yielded, total = yielded + len(new), _upto(new)
        if yielded != total:
            raise FaninError(f"batch {batch_id} has {total} items, which stand for {yielded} of its origin")

    def end(self, batch_id: str, reason: str, *, key: str | None = None) -> Cancelled:
        """End the batch as failed, with the result ``forced``, unless it has ended before. Raises NotFound.

        *reason*: required; the batch and its ending event keep it with the caller's name.
        """
        why = reason_given(reason)
        if why is None:
            raise InvalidRequest("the end of a batch is forced with a reason", field="reason")
        return self._transport.end(batch_id_given(batch_id), why, key_or_fresh(key))

    def delete(self, batch_id: str) -> None:
        """Remove the user data of an ended batch; it is not found from then on. It may be repeated.

        Raises NotFound, and Conflict if the batch is live or its ending event is not confirmed yet.
        """
        self._transport.delete(batch_id_given(batch_id))

    def delete_ended(self, before: datetime) -> Deleted:
        """Delete all batches that ended before a time, which has a time zone, one request for each part."""
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise InvalidRequest(
                "the time before which batches ended is a datetime with a time zone", field="endedBefore"
            )
        done = Deleted(0, 0)
        for part in pages(partial(self._transport.delete_ended, before)):
            done = Deleted(done.deleted + part.deleted, done.unconfirmed + part.unconfirmed)
        return done


def _items_of(items: ReopenItems | str) -> ReopenItems:
    if not isinstance(items, str) or items not in set(ReopenItems):
        raise InvalidRequest("the items to reopen are failed or unfinished", field="items")
    return ReopenItems(items)


def _upto(items: Items) -> int:
    """Return the number of items in the group of *items*."""
    group = GroupId.decode(items.group_id)
    return group.upto if group else len(items)
