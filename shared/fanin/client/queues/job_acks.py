"""The acks of the items that jobs carry: one for the end of each job."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID, uuid5

from fanin.client.argument_checks.reasons import fitting
from fanin.client.transports.transport import Acks
from fanin.errors import InvalidRequest
from fanin.queue import OutboxEntry, Reporter
from fanin.result_texts import result_text
from fanin.tracker import Ack, Outcome

OF_JOBS = UUID("c1d5f6c3-20f5-5c53-8a0c-7d8a5be60a1b")
DIED = "the job failed too often"


def acking(transport: Acks) -> Reporter:
    """Return the function that acks the item of an outbox entry: as failed, if the job is dead.

    A repeated ack is the same request, because its caller follows from the end of the job and its outcome.
    """

    def report(entry: OutboxEntry) -> None:
        outcome, reason = (Outcome.FAILURE, reason_of(entry)) if entry.failed else (Outcome.SUCCESS, None)
        caller = str(uuid5(OF_JOBS, _ack_text(entry, outcome)))
        transport.ack([Ack.of(entry.item_id, caller, outcome, reason, entry.result)])

    return report


@dataclass(frozen=True, slots=True)
class ItemResults:
    """Checks the results of jobs before the jobs end: what an ended job has cannot be refused any more.

    *kept*: the batches that are known to keep results; their options never change.
    """

    transport: Acks
    kept: set[str] = field(default_factory=set)

    def checked(self, item_id: str | None, result: object) -> str | None:
        """Return *result* as an ack has it. Raises InvalidRequest where no ack of the item could have it."""
        text = result_text(result)
        if text is None:
            return None
        if item_id is None:
            raise InvalidRequest(
                "the job has no item whose result it could be: add it with an item_id", field="result"
            )
        ack = Ack.of(item_id, "check", result=text)
        if ack.batch_id not in self.kept:
            self.transport.verdicts([ack])
            self.kept.add(ack.batch_id)
        return text


def reason_of(entry: OutboxEntry) -> str:
    """Return the reason of a failed item: the last error of the dead job, cut to the length of a reason."""
    return fitting(entry.reason or "") or DIED


def _ack_text(entry: OutboxEntry, outcome: Outcome) -> str:
    """Return the text that identifies one ack."""
    text = f"{entry.ending}:{outcome}"
    return f"{text}:{entry.reason}" if entry.reason else text
