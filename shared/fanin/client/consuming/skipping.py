"""What a consumer finds out before it starts the work of an item: whether there is anything left to do."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fanin.client.consuming.answering import Answered, Named, answers_of
from fanin.client.transports.transport import Acks
from fanin.errors import FaninError, NewerSchema, StoreUnavailable
from fanin.isolating import SHOWN, Record, receives
from fanin.tracker import Ack, Outcome, State
from fanin.tracker.rules.model import ALIVE

logger = logging.getLogger("fanin")
KEPT_MAX = 10_000
"""Failures for good that a handler remembers."""


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

    def wants(self, record: Record) -> bool:
        """Return whether it is to be known before the work of *record* if its item is done."""
        return self.skip_done or receives(record) > 1

    def verdicts(self, named: Sequence[Named]) -> list[Answered]:
        """Return the verdicts that the acks of records would get now, by one request for 1,000 of them.

        An item that is done is a duplicate; one that has failed is not, because it can heal.
        """
        return answers_of(lambda acks, _: self.transport.verdicts(acks), named)

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


@dataclass(slots=True)
class FailuresForGood:
    """The acks of the latest failures that a handler's function decided: their work is not repeated.

    Their message comes again if its ack had no answer, if another item of its chunk goes again, or as a copy.
    """

    acks: dict[tuple[str, str, str, int], Ack] = field(default_factory=dict)

    def note(self, ack: Ack) -> None:
        """Remember *ack* for the message that is its caller, if it is a failure."""
        if ack.outcome is Outcome.FAILURE:
            if len(self.acks) >= KEPT_MAX:
                self.acks.clear()
            self.acks[ack.caller, ack.batch_id, ack.group_id, ack.first] = ack

    def of(self, ack: Ack) -> Ack | None:
        """Return the failure that was noted for the message and the item of *ack*; else None."""
        return self.acks.get((ack.caller, ack.batch_id, ack.group_id, ack.first))
