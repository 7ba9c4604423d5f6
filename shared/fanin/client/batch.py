"""An opened batch, which its block closes."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import UUID, uuid5

from fanin.client.items import Items
from fanin.client.model import Cancelled, Closed, Status
from fanin.client.reasons import reason_of
from fanin.errors import FaninError, InvalidRequest
from fanin.tracker import BatchMap, Sample
from fanin.tracker.mapping import CELLS_MAX

if TYPE_CHECKING:
    from fanin.client.fanin import Fanin
    from fanin.client.handing import UnderWork
    from fanin.client.repairs import Reopened

logger = logging.getLogger("fanin")


class Batch:
    """An opened batch; as a context manager, it closes the batch at the end of the block.

    If the block raises before a close, the batch is cancelled, so that it does not complete with a part of
    its items, and the exception propagates with a note; the child of an item under work stays open, until
    the last attempt. A forked child that leaves its parent's block sends nothing. *closed*: the answer of
    close; None before it.
    """

    def __init__(self, fanin: Fanin, batch_id: str, key: str, work: UnderWork | None = None) -> None:
        self.id = batch_id
        self.closed: Closed | None = None
        self._entered_in: int | None = None
        self._entered_by: int | None = None
        self._fanin = fanin
        self._key = key
        self._work = work

    def add(self, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items in one request and return their ids."""
        return self._fanin.add(self.id, count, key=key)

    def close(self) -> Closed:
        """Make the total final; a repeated close returns the same answer.

        Its key is of the batch and of the key it was opened under, which another batch had if that is over.
        """
        self.closed = self._fanin.close(self.id, key=str(uuid5(UUID(self.id), self._key)))
        return self.closed

    def cancel(self, reason: str | None = None) -> Cancelled:
        """End the batch without waiting for its items, unless it has ended before."""
        answer = self._fanin.cancel(self.id, reason)
        self._entered_by = None  # the batch has ended, so a wait in the block returns
        return answer

    def end(self, reason: str) -> Cancelled:
        """End the batch as failed, with a reason, unless it has ended before."""
        return self._fanin.end(self.id, reason)

    def reopen(self, *, items: str = "failed", key: str | None = None) -> Reopened:
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
        return self._fanin.get(self.id)

    def map(self, *, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None) -> BatchMap:
        """Return how many items of each part of the batch are done; see ``Fanin.map``."""
        return self._fanin.map(self.id, cells=cells, start=start, stop=stop)

    def wait(self, timeout: float | None = None) -> Status:
        """Return the status once the batch has ended, in whatever way; see ``Fanin.wait``.

        Raises InvalidRequest inside the batch's own block, whose end closes it.
        """
        self._refuse_in_block()
        return self._fanin.wait(self.id, timeout)

    def watch(self, timeout: float | None = None) -> Iterator[Status]:
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
        if self.closed is not None or entered_in != os.getpid():
            return
        if error is None:
            self.close()
        elif self._work is None or not self._work.left(self, error):
            self.cancel_for(error)

    def _refuse_in_block(self) -> None:
        """Raise InvalidRequest where a wait would keep its own thread from closing the batch."""
        if self.is_in_block and self._entered_by == threading.get_ident():
            raise refusal_in_block(self.id)

    def cancel_for(self, error: BaseException) -> bool:
        """Cancel the batch because of *error*; return False after a failed cancel, which is not raised.

        The outcome is a note on *error*.
        """
        cancelled = False
        try:
            state = self.cancel(reason_of(error)).state
            outcome = f"batch {self.id} is {state}: its block raised"
            cancelled = True
        except FaninError as refusal:
            outcome = f"batch {self.id} could not be cancelled after its block raised: {refusal}"
        logger.warning(outcome)
        error.add_note(outcome)
        return cancelled

    @property
    def is_in_block(self) -> bool:
        """Whether this process is in the batch's block, whose end will close the batch."""
        entered = self._entered_in == os.getpid() and self._entered_by is not None
        return entered and self.closed is None

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"


def refusal_in_block(batch_id: str) -> InvalidRequest:
    """Return the error of a wait in the batch's own block."""
    return InvalidRequest(
        f"batch {batch_id} is closed at the end of its block, so a wait in the block would not return:"
        " wait after the block, or call close() before"
    )
