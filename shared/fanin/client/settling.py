"""What became of the records of a delivery: which messages are deleted, and which return to the queue."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanin.client.answering import Answered
from fanin.isolating import SHOWN, Record
from fanin.tracker import Ack, Verdict

logger = logging.getLogger("fanin")

Outcomes = Sequence[tuple[Record, Verdict]]

UNMATCHED = frozenset({Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE})
"""Verdicts of an item that is in no batch of the tenant: its message returns to the queue."""
DONE = "done"
"""Why a message is deleted without work if its item is done, although its batch is live."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a delivery.

    *acked*: the records that were acked, each with the verdict of its item. *failed*: ids of the messages
    that return to the queue. *unmatched*: those of them whose item is in no batch of the tenant. *skipped*:
    the records that are deleted without work, each with the reason: the state of its batch, or ``done``; the
    latter are in *acked*, too. *handed*: the records that are deleted without an ack, because their items
    were handed over.
    """

    acked: Outcomes
    failed: Sequence[str]
    unmatched: Outcomes = ()
    skipped: Sequence[tuple[Record, str]] = ()
    handed: Sequence[Record] = ()

    @property
    def dropped(self) -> Outcomes:
        """The records that are deleted although nothing was acked, because their batch has expired."""
        return [(record, verdict) for record, verdict in self.acked if verdict is Verdict.EXPIRED]

    def response(self) -> dict[str, Any]:
        """Return the partial batch response."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


@dataclass(frozen=True, slots=True)
class Worked:
    """What the work on a record came to: *acks* to send, and whether its message *returns* all the same.

    *handed*: an item of it was handed over.
    """

    record: Record
    acks: Sequence[Ack] = ()
    returns: bool = False
    handed: bool = False


@dataclass(slots=True)
class Tally:
    """What became of the records of a delivery so far."""

    answered: list[Answered] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unmatched: list[tuple[Record, Verdict]] = field(default_factory=list)
    skipped: list[tuple[Record, str]] = field(default_factory=list)
    done: list[tuple[Record, Verdict]] = field(default_factory=list)
    handed: list[Record] = field(default_factory=list)

    def fail(self, records: Iterable[Record]) -> None:
        """Return the messages of *records* to the queue."""
        self.failed += [record["messageId"] for record in records]

    def skip(self, record: Record, reason: str) -> None:
        """Delete the message of *record* without work; an item that is ``done`` counts as acked before."""
        self.skipped.append((record, reason))
        if reason == DONE:
            self.done.append((record, Verdict.DUPLICATE))

    def settled(self) -> Settled:
        """Return the result of the delivery; a message whose ack was not answered or unmatched returns."""
        unanswered = [each.record["messageId"] for each in self.answered if each.counts is None]
        outcomes = [(each.record, verdict) for each in self.answered for verdict in each.counts or ()]
        unmatched = [*self.unmatched, *(each for each in outcomes if each[1] in UNMATCHED)]
        returned = [*self.failed, *unanswered, *(record["messageId"] for record, _ in unmatched)]
        return Settled(
            acked=[*(each for each in outcomes if each[1] not in UNMATCHED), *self.done],
            failed=list(dict.fromkeys(returned)),
            unmatched=unmatched,
            skipped=self.skipped,
            handed=self.handed,
        )


def log_unmatched(unmatched: Outcomes) -> None:
    """Log the messages whose items are in no batch of the tenant, in one line."""
    facts = {"count": len(unmatched), "returned": _shown(unmatched)}
    line = "%d messages return to the queue: their items are in no batch of this tenant"
    logger.warning(line, len(unmatched), extra=facts)


def log_deleted(settled: Settled) -> None:
    """Log the messages that are deleted without work or without an ack, each kind in one line."""
    if skipped := settled.skipped:
        shown = [{"messageId": record["messageId"], "reason": reason} for record, reason in skipped[:SHOWN]]
        facts: dict[str, Any] = {"count": len(skipped), "skipped": shown}
        level = logging.INFO if all(reason == DONE for _, reason in skipped) else logging.WARNING
        line = "%d messages are deleted without work: their items need none"
        logger.log(level, line, len(skipped), extra=facts)
    if dropped := settled.dropped:
        facts = {"count": len(dropped), "dropped": _shown(dropped)}
        logger.warning("acks dropped, because their batches have expired: %d", len(dropped), extra=facts)


def _shown(outcomes: Outcomes) -> list[dict[str, str]]:
    """Return the first of *outcomes* for a log line."""
    return [{"messageId": record["messageId"], "verdict": verdict} for record, verdict in outcomes[:SHOWN]]
