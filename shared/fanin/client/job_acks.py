"""The acks of the items that jobs carry: one for the end of each job."""

from __future__ import annotations

from uuid import UUID, uuid5

from fanin.client.reasons import fitting
from fanin.client.transport import Acks
from fanin.errors import InvalidRequest
from fanin.queue import OutboxEntry, Reporter
from fanin.tracker import Ack, Outcome

OF_JOBS = UUID("c1d5f6c3-20f5-5c53-8a0c-7d8a5be60a1b")
DIED = "the job failed too often"


def acking(transport: Acks) -> Reporter:
    """Return the function that acks the item of an outbox entry: as failed, if the job is dead.

    An item id that is malformed is ignored. A repeated ack is the same request, because its idempotency key
    follows from the end of the job and its outcome.
    """

    def report(entry: OutboxEntry) -> None:
        outcome, reason = (Outcome.FAILURE, reason_of(entry)) if entry.failed else (Outcome.SUCCESS, None)
        caller = str(uuid5(OF_JOBS, _ack_text(entry, outcome)))
        try:
            ack = Ack.of(entry.item_id, caller, outcome, reason)
        except InvalidRequest:
            return
        transport.ack([ack], caller)

    return report


def reason_of(entry: OutboxEntry) -> str:
    """Return the reason of a failed item: the last error of the dead job, cut to the length of a reason."""
    return fitting(entry.reason or "") or DIED


def _ack_text(entry: OutboxEntry, outcome: Outcome) -> str:
    """Return the text that identifies one ack; version 0.1 made the same text of the rows that it wrote."""
    text = f"{entry.record}:{outcome}"
    return f"{text}:{entry.reason}" if entry.reason else text
