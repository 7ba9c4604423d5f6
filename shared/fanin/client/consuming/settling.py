"""The outcomes of the records of a delivery: which messages are deleted, and which return to the queue."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanin.client.consuming.answering import Answered
from fanin.client.consuming.ordering import behind, is_in_order
from fanin.isolating import SHOWN, Record
from fanin.tracker import Ack, Verdict

logger = logging.getLogger("fanin")

Outcomes = Sequence[tuple[Record, Verdict]]

UNMATCHED = frozenset({Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE})
"""Verdicts of an item that is in no batch of the tenant: its message returns to the queue."""
RETURNS = "returns to the queue, or goes to its dead-letter queue after maxReceiveCount receives"
"""Where a message goes that is not deleted: a consumer does not know the queue's redrive policy."""
ITEM_DONE = "done"
"""Why a message is deleted without work if its item is done, although its batch is live."""

_REOPEN = "to do its unfinished items, reopen it (docs/repair.md)"
ENDED_HINTS = {
    "COMPLETE": "all its items are acked, or enough have succeeded; to do others, reopen it (docs/repair.md)",
    "EXPIRED": "its retention is over, and its items are lost; open a new batch for them",
    **dict.fromkeys(("CANCELLED", "FAILED", "TIMED_OUT"), _REOPEN),
}
"""What a line says of the items of a batch that has ended, by the state of the batch."""
WARNED_MAX = 10_000
_warned: set[tuple[str, str]] = set()
"""The batches whose messages this process has warned of, with their states."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a delivery.

    *acked*: the records that were acked, each with the verdict of its item. *failed*: ids of the messages
    that return to the queue. *unmatched*: those of them whose item is in no batch of the tenant. *skipped*:
    the records that are deleted without work, each with the reason: the state of its batch, or ``done``; the
    latter are in *acked*, too. *handed*: the records that are deleted without an ack, because their items
    were handed over. *ended*: the skipped messages whose batch has ended: message id -> batch id.
    """

    acked: Outcomes
    failed: Sequence[str]
    unmatched: Outcomes = ()
    skipped: Sequence[tuple[Record, str]] = ()
    handed: Sequence[Record] = ()
    ended: Mapping[str, str] = field(default_factory=dict)

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
    """The outcome of the records of a delivery so far.

    *records*: those whose order counts, if they are of a FIFO queue: behind a message that returns, all
    others of its group return, too.
    """

    records: Sequence[Record] = ()
    answered: list[Answered] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unmatched: list[tuple[Record, Verdict]] = field(default_factory=list)
    skipped: list[tuple[Record, str]] = field(default_factory=list)
    done_before: list[tuple[Record, Verdict]] = field(default_factory=list)
    handed: list[Record] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)

    def note(self, worked: Worked) -> None:
        """Note what the work on a record came to, beside its acks."""
        self.fail([worked.record] if worked.returns else [])
        self.handed += [worked.record] if worked.handed else []

    def include(self, other: Tally) -> None:
        """Take over the outcomes of records that were worked on by themselves."""
        for name in ("answered", "failed", "unmatched", "skipped", "done_before", "handed"):
            getattr(self, name).extend(getattr(other, name))
        self.ended.update(other.ended)

    def fail(self, records: Iterable[Record]) -> None:
        """Return the messages of *records* to the queue."""
        self.failed += [record["messageId"] for record in records]

    def skip(self, record: Record, reason: str, batch_id: str | None = None) -> None:
        """Delete the message of *record* without work; an item that is ``done`` counts as acked before.

        *batch_id*: the batch that has ended, if that is the reason.
        """
        self.skipped.append((record, reason))
        if batch_id is not None:
            self.ended[record["messageId"]] = batch_id
        if reason == ITEM_DONE:
            self.done_before.append((record, Verdict.DUPLICATE))

    def look(self, answer: Answered) -> bool:
        """Note what a look at an item found; return whether no work of its record is due."""
        verdicts = set(answer.counts or ())
        if answer.counts is None:
            self.fail([answer.record])
        elif verdicts == {Verdict.DUPLICATE}:
            self.skip(answer.record, ITEM_DONE)
        self.unmatched += [(answer.record, verdict) for verdict in verdicts & UNMATCHED]
        return verdicts <= {Verdict.DUPLICATE, *UNMATCHED}

    def is_behind(self, record: Record) -> bool:
        """Return whether *record* stands behind a message of its group that returns."""
        return is_in_order(record) and record in behind(self.records, self._returned())

    def settled(self) -> Settled:
        """Return the result of the delivery; a message whose ack was not answered or unmatched returns."""
        returned = self._returned()
        returned |= {record["messageId"]: None for record in behind(self.records, returned)}
        return Settled(
            acked=[*(each for each in self._outcomes() if each[1] not in UNMATCHED), *self.done_before],
            failed=list(returned),
            unmatched=self._unmatched(),
            skipped=[each for each in self.skipped if each[0]["messageId"] not in returned],
            handed=[record for record in self.handed if record["messageId"] not in returned],
            ended=self.ended,
        )

    def _outcomes(self) -> Outcomes:
        return [(each.record, verdict) for each in self.answered for verdict in each.counts or ()]

    def _unmatched(self) -> Outcomes:
        return [*self.unmatched, *(each for each in self._outcomes() if each[1] in UNMATCHED)]

    def _returned(self) -> dict[str, None]:
        """Return the ids of the messages that return by themselves, each once."""
        unanswered = [each.record["messageId"] for each in self.answered if each.counts is None]
        unmatched = [record["messageId"] for record, _ in self._unmatched()]
        return dict.fromkeys([*self.failed, *unanswered, *unmatched])


def log_unmatched(unmatched: Outcomes) -> None:
    """Log the messages whose items are in no batch of the tenant, in one line."""
    facts = {"count": len(unmatched), "returned": _shown(unmatched)}
    line = "%d messages return to the queue: their items are in no batch of this tenant"
    logger.warning(line, len(unmatched), extra=facts)


def log_deleted(settled: Settled) -> None:
    """Log the messages that are deleted without work, a line for each batch, and those without an ack."""
    groups: dict[tuple[str | None, str], list[Record]] = {}
    for record, reason in settled.skipped:
        groups.setdefault((settled.ended.get(record["messageId"]), reason), []).append(record)
    for (batch_id, reason), records in groups.items():
        _log_skipped(batch_id, reason, records)
    if dropped := settled.dropped:
        facts = {"count": len(dropped), "dropped": _shown(dropped)}
        logger.warning("acks dropped, because their batches have expired: %d", len(dropped), extra=facts)


def _log_skipped(batch_id: str | None, reason: str, records: Sequence[Record]) -> None:
    """Log messages that are deleted without work: of a batch that has ended, first as a warning."""
    shown = [{"messageId": record["messageId"], "reason": reason} for record in records[:SHOWN]]
    facts: dict[str, Any] = {"count": len(records), "skipped": shown}
    if batch_id is None:
        line = "%d messages are deleted without work: their items are done"
        logger.info(line, len(records), extra=facts)
        return
    level = logging.INFO if (batch_id, reason) in _warned else logging.WARNING
    line = "batch %s is %s, so %d messages are deleted without work: %s"
    logger.log(level, line, batch_id, reason, len(records), ENDED_HINTS[reason], extra=facts)
    if len(_warned) >= WARNED_MAX:
        _warned.clear()
    _warned.add((batch_id, reason))


def _shown(outcomes: Outcomes) -> list[dict[str, str]]:
    """Return the first of *outcomes* for a log line."""
    return [{"messageId": record["messageId"], "verdict": verdict} for record, verdict in outcomes[:SHOWN]]
