"""An opened batch, which its block closes."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self
from uuid import UUID, uuid5

from fanin.arguments import Seconds
from fanin.client.argument_checks.reasons import reason_of
from fanin.client.handing_over.under_work import adding_call
from fanin.client.items import Items
from fanin.client.model import Cancelled, Closed, Status, Summary
from fanin.client.tracing import Carried
from fanin.errors import BatchEnded, Conflict, FaninError, InvalidRequest
from fanin.tracker import BatchMap, Sample
from fanin.tracker.batch_changes.reopening import ReopenItems
from fanin.tracker.reads.mapping import CELLS_MAX
from fanin.tracker.reads.progress_tokens import LIFETIME
from fanin.types import ReopenItemsText

if TYPE_CHECKING:
    from fanin.client.handing_over.under_work import UnderWork
    from fanin.client.transports.reports import AckReport
    from fanin.item_ids import ItemId

logger = logging.getLogger("fanin")
_GO_ON = "if it is live, run again under its keys to go on, or cancel it"
_REFUSED_AGAIN = (
    "the same call is refused again, so change it, or open a batch under a new key, and cancel this one if"
    " it is not wanted any more"
)
_SURPLUS = (
    "batch %s is closed with %d items, and %d were expected: it completes once all of them are acked, the"
    " surplus ones too. If they stand for no work, an add was repeated without its key: cancel the batch"
)


class Calls(Protocol):
    """The calls of a client that its batches make, each with the id of the batch first."""

    def add(self, batch_id: str, count: int, *, key: str | None = None) -> Items: ...
    def ack(
        self,
        items: Iterable[str | ItemId],
        *,
        results: Mapping[str, Any] | Sequence[Any] | None = None,
        key: str | None = None,
    ) -> AckReport: ...
    def fail(
        self,
        items: Iterable[str | ItemId],
        reason: str | BaseException | None = None,
        *,
        key: str | None = None,
    ) -> AckReport: ...
    def close(self, batch_id: str, *, key: str | None = None) -> Closed: ...
    def cancel(
        self, batch_id: str, reason: str | None = None, *, children: bool = False, key: str | None = None
    ) -> Cancelled: ...
    def children(self, of: str, *, done: bool = False) -> Iterator[Summary]: ...
    def end(self, batch_id: str, reason: str, *, key: str | None = None) -> Cancelled: ...
    def reopen(
        self, batch_id: str, *, items: ReopenItems | ReopenItemsText = ..., key: str | None = None
    ) -> Reopened: ...
    def pairs(self, batch_id: str) -> Iterator[tuple[str, str]]: ...
    def delete(self, batch_id: str) -> None: ...
    def notify(self, batch_id: str, *, key: str | None = None) -> str: ...
    def status(self, batch: str) -> Status: ...
    def progress_token(self, batch_id: str, *, expires: Seconds = ...) -> str: ...
    def map(
        self, batch_id: str, *, cells: int = ..., start: int = 0, stop: int | None = None
    ) -> BatchMap: ...
    def wait(self, batch: str, timeout: Seconds | None = None) -> Status: ...
    def watch(self, batch: str, timeout: Seconds | None = None) -> Iterator[Status]: ...
    def outstanding(self, batch_id: str) -> Iterator[Items]: ...
    def failures(self, batch_id: str) -> Iterator[Items]: ...
    def samples(self, batch_id: str) -> tuple[Sample, ...]: ...
    def results(self, batch: str, *, after: str | ItemId | None = None) -> Iterator[tuple[str, Any]]: ...


class Batch:
    """An opened batch; as a context manager, it closes the batch at the end of the block.

    If the block raises, or the close is refused because too few items were added, the exception propagates
    with a note, and the batch

    * that was opened under a key of yours is left as it is, for the next run under that key;
    * that is the child of an item under work is left for the next attempt, and cancelled at the last one;
    * else is cancelled, so that it does not complete with a part of its items.

    The end of the block raises BatchEnded for a batch that has ended before its items were done, but for an
    end that this object was asked for. A forked child that leaves its parent's block sends nothing. *closed*:
    the answer of close; None before it.
    """

    def __init__(
        self,
        fanin: Calls,
        batch_id: str,
        key: str,
        work: UnderWork | None = None,
        *,
        is_keyed: bool = False,
        expected_items: int | None = None,
        is_closed_by_stack: bool = False,
        carried: Carried = (),
    ) -> None:
        """*key*: the idempotency key of its opening; *is_keyed*: it is the caller's, who can repeat it.

        *expected_items*: the option of its opening, to compare it with the total at the close.
        *is_closed_by_stack*: the end of a block does nothing. *carried*: the trace context of its items.
        """
        self.id = batch_id
        self.closed: Closed | None = None
        self._has_outcome = is_closed_by_stack
        self._entered_in: int | None = None
        self._entered_by: int | None = None
        self._fanin = fanin
        self._key = key
        self._work = work
        self._is_keyed = is_keyed
        self._expected_items = expected_items
        self._carried = carried

    def add(self, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items in one request and return their ids.

        *key*: required in a batch that was opened under a key of yours, so that the next run gets the same
        items. In a function of a consumer it is derived, if it is not given.
        """
        if key is None and self._is_keyed:
            need_key(self.id)
        items = self._fanin.add(self.id, count, key=key)
        items.carried = self._carried
        return items

    def ack(
        self,
        items: Iterable[str | ItemId],
        *,
        results: Mapping[str, Any] | Sequence[Any] | None = None,
        key: str | None = None,
    ) -> AckReport:
        """Mark items as done; see ``Fanin.ack``."""
        return self._fanin.ack(items, results=results, key=key)

    def fail(
        self,
        items: Iterable[str | ItemId],
        reason: str | BaseException | None = None,
        *,
        key: str | None = None,
    ) -> AckReport:
        """Mark items as failed; see ``Fanin.fail``."""
        return self._fanin.fail(items, reason, key=key)

    def close(self) -> Closed:
        """Make the total final; a repeated close returns the same answer.

        Its key is of the batch and of the key it was opened under, which another batch had if that is over.
        More items than ``expected_items`` are logged as a warning. Raises as ``Fanin.close``.
        """
        self.closed = self._fanin.close(self.id, key=str(uuid5(UUID(self.id), self._key)))
        self._has_outcome = True
        if self._expected_items is not None and self.closed.total > self._expected_items:
            logger.warning(_SURPLUS, self.id, self.closed.total, self._expected_items)
        return self.closed

    def cancel(self, reason: str | None = None, *, children: bool = False) -> Cancelled:
        """End the batch without waiting for its items; with *children*, each live batch below it, too.

        Raises BatchEnded if it has ended otherwise.
        """
        answer = self._fanin.cancel(self.id, reason, children=children)
        self._has_outcome = True
        return answer

    def end(self, reason: str) -> Cancelled:
        """End the batch as failed, with a reason. Raises BatchEnded if it has ended otherwise."""
        answer = self._fanin.end(self.id, reason)
        self._has_outcome = True
        return answer

    def children(self, *, done: bool = False) -> Iterator[Summary]:
        """Yield the children of its items; see ``Fanin.children``."""
        return self._fanin.children(self.id, done=done)

    def reopen(self, *, items: ReopenItems | ReopenItemsText = "failed", key: str | None = None) -> Reopened:
        """Open a new batch for the failed items of this one, which has ended, or for all ``unfinished``."""
        return self._fanin.reopen(self.id, items=items, key=key)

    def delete(self) -> None:
        """Remove the user data of the batch, which has ended."""
        self._fanin.delete(self.id)

    def notify(self) -> str:
        """Send the ending event again and return its id."""
        return self._fanin.notify(self.id)

    def status(self) -> Status:
        """Return the state and progress of the batch."""
        return self._fanin.status(self.id)

    def progress_token(self, *, expires: Seconds = LIFETIME) -> str:
        """Return a token that reads its progress; see ``Fanin.progress_token``."""
        return self._fanin.progress_token(self.id, expires=expires)

    def map(self, *, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None) -> BatchMap:
        """Return how many items of each part of the batch are done; see ``Fanin.map``."""
        return self._fanin.map(self.id, cells=cells, start=start, stop=stop)

    def wait(self, timeout: Seconds | None = None) -> Status:
        """Return the status once the batch has ended, in whatever way; see ``Fanin.wait``.

        Raises InvalidRequest inside the batch's own block, whose end closes it.
        """
        self._refuse_in_block()
        return self._fanin.wait(self.id, timeout)

    def watch(self, timeout: Seconds | None = None) -> Iterator[Status]:
        """Yield the status now and whenever it is found changed, to the end; see ``Fanin.watch``.

        Raises InvalidRequest as :meth:`wait` does.
        """
        self._refuse_in_block()
        return self._fanin.watch(self.id, timeout)

    def outstanding(self) -> Iterator[Items]:
        """Yield the ranges of items that are not acked yet."""
        return self._fanin.outstanding(self.id)

    def failures(self) -> Iterator[Items]:
        """Yield the ranges of failed items."""
        return self._fanin.failures(self.id)

    def results(self, *, after: str | ItemId | None = None) -> Iterator[tuple[str, Any]]:
        """Yield the id and the result of each item that has one, in order, once the batch has ended."""
        return self._fanin.results(self.id, after=after)

    def samples(self) -> tuple[Sample, ...]:
        """Return the reasons of failures, at most 128."""
        return self._fanin.samples(self.id)

    def __enter__(self) -> Self:
        self._entered_in, self._entered_by = os.getpid(), threading.get_ident()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        entered_in, self._entered_in = self._entered_in, None
        if self._has_outcome or entered_in != os.getpid():
            return
        if error is not None:
            self.abandon(error)
            return
        try:
            self.close()
        except Conflict as refusal:
            self.abandon(refusal, is_short=True)
            raise

    def abandon(self, error: BaseException, *, is_short: bool = False) -> None:
        """Leave the batch to the next run or attempt, if there may be one, and cancel it otherwise.

        *error*: why this run does not close it; it gets the outcome as a note. *is_short*: for want of items.
        """
        if isinstance(error, BatchEnded) and error.batch_id == self.id:
            return
        if self._work is not None:
            self._work.block_raised(self.id, partial(self._cancel_for, error))
        elif self._is_keyed:
            hint = _REFUSED_AGAIN if isinstance(error, Conflict) and not is_short else _GO_ON
            _note(error, f"batch {self.id} was not cancelled by this run: {hint}")
        else:
            self._cancel_for(error)

    def _refuse_in_block(self) -> None:
        """Raise InvalidRequest where a wait would keep its own thread from closing the batch."""
        if self.is_in_block and self._entered_by == threading.get_ident():
            raise refusal_in_block(self.id)

    def _cancel_for(self, error: BaseException) -> bool:
        """Cancel the batch because of *error*; return whether it has ended: a failed cancel is not raised.

        The outcome is a note on *error*.
        """
        has_ended = True
        try:
            state = self.cancel(reason_of(error)).state
            outcome = f"batch {self.id} is {state}: its block raised"
        except BatchEnded as ended:
            outcome = str(ended)
        except FaninError as refusal:
            outcome = f"batch {self.id} could not be cancelled after its block raised: {refusal}"
            has_ended = False
        _note(error, outcome)
        return has_ended

    @property
    def is_in_block(self) -> bool:
        """Whether this process is in the batch's block, whose end will close the batch."""
        return self._entered_in == os.getpid() and not self._has_outcome

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"


class Reopened(Batch):
    """A new batch of items of an ended one, *origin_batch_id*. It is closed, and *items* are all its ids."""

    def __init__(self, fanin: Calls, items: Items, origin_batch_id: str, key: str, is_keyed: bool) -> None:
        super().__init__(fanin, items.batch_id, key, is_keyed=is_keyed)
        self.items = items
        self.origin_batch_id = origin_batch_id

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (id of the origin's item, id of the new item), in order; see :meth:`Fanin.pairs`."""
        return self._fanin.pairs(self.id)


def _note(error: BaseException, outcome: str) -> None:
    """Log the state of a batch whose block raised *error*, and add it to the error."""
    logger.warning(outcome)
    error.add_note(outcome)


def need_key(batch_id: str) -> None:
    """Raise InvalidRequest for an add without a key to a batch under one, but for derived ones."""
    if adding_call(batch_id) is None:
        raise InvalidRequest(
            f"batch {batch_id} was opened under a key: pass one to each add, too, such as key='part-1', so"
            " that the next run gets the same items",
            field="key",
        )


def refusal_in_block(batch_id: str) -> InvalidRequest:
    """Return the error of a wait in the batch's own block."""
    return InvalidRequest(
        f"batch {batch_id} is closed at the end of its block, so a wait in the block would not return:"
        " wait after the block, or call close() before"
    )
