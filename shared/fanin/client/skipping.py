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

    ``OVER``: the batch has ended. ``DONE``: the item is done. ``UNMATCHED``: the item is in no batch of the
    tenant. ``UNKNOWN``: the batch cannot be read.
    """

    DUE = "due"
    OVER = "over"
    DONE = "done"
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
    windows: dict[Window, tuple[Items, ...]] = field(default_factory=dict)

    def at(self, ack: Ack, record: Record) -> Look:
        """Return whether the work of *record* is due."""
        batch_id = ack.batch_id
        try:
            if batch_id not in self.errors:
                return self._found(ack, again=receives(record) > 1)
        except (StoreUnavailable, NewerSchema) as error:
            self.errors[batch_id] = error
        self.unreadable.setdefault(batch_id, []).append(record)
        return Look.UNKNOWN

    def log(self) -> None:
        """Log the messages that return because their batches cannot be read, one line for each batch."""
        for batch_id, records in self.unreadable.items():
            error = self.errors[batch_id]
            facts = {"count": len(records), "returned": [record["messageId"] for record in records[:SHOWN]]}
            level = logging.ERROR if isinstance(error, NewerSchema) else logging.WARNING
            line = "%d messages return to the queue, not started: %s"
            logger.log(level, line, len(records), error, extra=facts)

    def _found(self, ack: Ack, *, again: bool) -> Look:
        state = self.transport.state_of(ack.batch_id)
        if state is None:
            return Look.UNMATCHED
        self.states[ack.batch_id] = state
        if is_over(state):
            return Look.OVER
        return self._item(ack) if again or self.skip_done else Look.DUE

    def _item(self, ack: Ack) -> Look:
        """Return whether an item of a live batch is done; one that has failed is due, because it can heal."""
        window = window_of(ack)
        if window is None:
            return Look.DUE
        try:
            if window not in self.windows:
                self.windows[window] = self.transport.left(*window, failed=True)
        except Conflict:  # a batch in estimated mode does not know its items
            return Look.DUE
        except NotFound:
            return Look.UNMATCHED
        left = self.windows[window]
        return Look.DUE if any(ack.first in items.indexes for items in left) else Look.DONE


def window_of(ack: Ack) -> Window | None:
    """Return the items of the group of *ack* that lie in its page, if the batch has pages of the usual size.

    None: the id is none that an add returned, and the verdict of its ack says so.
    """
    group = GroupId.decode(ack.group_id)
    if group is None or ack.last >= group.upto:
        return None
    page = (group.start + ack.first) // PAGE_ITEMS * PAGE_ITEMS - group.start
    return ack.batch_id, ack.group_id, max(page, 0), min(page + PAGE_ITEMS, group.upto) - 1
