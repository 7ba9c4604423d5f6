"""What a consumer finds out before it starts the work of an item: whether there is anything left to do."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import StrEnum

from fanin.client.items import Items
from fanin.client.transport import Acks
from fanin.errors import Conflict, FaninError, NewerSchema, NotFound, StoreUnavailable
from fanin.isolating import SHOWN, Record, receives
from fanin.tracker import Ack, GroupId, State
from fanin.tracker.model import ALIVE

logger = logging.getLogger("fanin")

Window = tuple[str, str, int, int]
"""A batch, a group, and its items from the first to the last one that are looked at together."""
PAGE_ITEMS = 1024


class Look(StrEnum):
    """What a look before the work found; only the work of an item that is ``DUE`` is done.

    ``OVER``: the batch has ended. ``UNMATCHED``: the tenant has no such batch. ``UNKNOWN``: the batch cannot
    be read.
    """

    DUE = "due"
    OVER = "over"
    UNMATCHED = "unmatched"
    UNKNOWN = "unknown"


def is_over(state: State | None) -> bool:
    """Return whether no ack counts any more for a batch in *state*; None: there is no such batch."""
    return state not in ALIVE


@dataclass(slots=True)
class Looks:
    """The looks of one delivery at the batches of its items; one that cannot be read is asked for once.

    *skip_done*: look at the items of messages that are received for the first time, too.
    """

    transport: Acks
    skip_done: bool = False
    states: dict[str, State] = field(default_factory=dict)
    errors: dict[str, FaninError] = field(default_factory=dict)
    unreadable: dict[str, list[Record]] = field(default_factory=dict)
    windows: dict[Window, tuple[Items, ...] | None] = field(default_factory=dict)

    def at(self, ack: Ack, record: Record) -> Look:
        """Return whether the work of *record* is due."""
        state = self._state(ack.batch_id)
        if ack.batch_id in self.errors:
            self.unreadable.setdefault(ack.batch_id, []).append(record)
            return Look.UNKNOWN
        if state is None:
            return Look.UNMATCHED
        self.states[ack.batch_id] = state
        return Look.OVER if is_over(state) else Look.DUE

    def is_done(self, ack: Ack, record: Record) -> bool:
        """Return whether the item of *ack* is done, if that is to be known before its work; a range is not.

        An item that has failed is not done, because it can heal.
        """
        window = window_of(ack) if self.skip_done or receives(record) > 1 else None
        if window is None or is_over(self._state(ack.batch_id)):
            return False
        if window not in self.windows:
            self.windows[window] = self._left(window)
        left = self.windows[window]
        return left is not None and not any(ack.first in items.indexes for items in left)

    def log(self) -> None:
        """Log the messages that return because their batches cannot be read, one line for each batch."""
        for batch_id, records in self.unreadable.items():
            error = self.errors[batch_id]
            facts = {"count": len(records), "returned": [record["messageId"] for record in records[:SHOWN]]}
            level = logging.ERROR if isinstance(error, NewerSchema) else logging.WARNING
            line = "%d messages return to the queue, not started: %s"
            logger.log(level, line, len(records), error, extra=facts)

    def _state(self, batch_id: str) -> State | None:
        try:
            return None if batch_id in self.errors else self.transport.state_of(batch_id)
        except (StoreUnavailable, NewerSchema) as error:
            self.errors[batch_id] = error
            return None

    def _left(self, window: Window) -> tuple[Items, ...] | None:
        """Return the items of *window* that are outstanding or failed; None if that cannot be known."""
        try:
            return self.transport.left(*window, failed=True)
        except (Conflict, NotFound):  # an estimated batch does not know its items; no group of the batch
            return None
        except (StoreUnavailable, NewerSchema) as error:
            self.errors[window[0]] = error
            return None


def window_of(ack: Ack) -> Window | None:
    """Return the items of the group of *ack* that lie in its page, if the batch has pages of the usual size.

    None for a range, and for an id that no add returned: the verdict of its ack says so.
    """
    group = GroupId.decode(ack.group_id)
    if group is None or ack.last >= group.upto or ack.size > 1:
        return None
    page = (group.start + ack.first) // PAGE_ITEMS * PAGE_ITEMS - group.start
    return ack.batch_id, ack.group_id, max(page, 0), min(page + PAGE_ITEMS, group.upto) - 1
