"""A Lambda consumer of an SQS queue: acks the items whose work is done; the other messages return.

The work of an item whose batch is over is not started. A redelivered message is worked on last and alone, as
``ordering`` says. For standard queues: a failed message does not block those after it.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fanin.calling import done, is_failure, log_failure, plain
from fanin.client.answering import answers_of
from fanin.client.handing import UnderWork, under_work
from fanin.client.ordering import runs_of
from fanin.client.reasons import reason_of
from fanin.client.records import item_id_of, records_of
from fanin.client.settling import DONE, Outcomes, Settled, Tally, Worked, log_deleted, log_unmatched
from fanin.client.skipping import Look, Looks
from fanin.client.transport import Acks
from fanin.isolating import Record, receives
from fanin.tracker import Ack, ItemId, Outcome, Verdict

logger = logging.getLogger("fanin")

Handle = Callable[[Record], object]
"""The user's function. A record is one of an SQS event as Lambda passes it: ``messageId``, ``body``, ..."""
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]

MARGIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Consumer:
    """Settles deliveries by *handle*; without one, the message itself reports the outcome of its item.

    *item_id*: record -> item id. *on_acked*: called once for each delivery, with all records that were acked
    and their verdicts. *margin_seconds*: with less time left no further record is started; the first one
    always is, so that a function with a short timeout makes progress. *fail_after*: from this receive of a
    message on, an exception acks its item as failed and the message is deleted; at most the queue's
    ``maxReceiveCount``. *ack_of*: record -> its ack, whose caller is the message id; without a *handle*.
    *skip_done*: do no work either of an item that is done, whose message is new; that of a redelivered one
    is never repeated.
    """

    transport: Acks
    handle: Handle | None = None
    item_id: Callable[[Record], str] | None = None
    on_acked: Callable[[Outcomes], object] | None = None
    margin_seconds: float = MARGIN_SECONDS
    fail_after: int | None = None
    ack_of: Callable[[Record], Ack] | None = None
    skip_done: bool = False

    def __post_init__(self) -> None:
        """Refuse functions whose call does no work, because their messages would be acked without it."""
        for name in ("handle", "item_id", "on_acked", "ack_of"):
            plain(getattr(self, name), name)

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Process a delivery, ack the items whose work is done, and return the result.

        *context*: Lambda's, which reports the time left; None for no limit.
        """
        tally, looks = Tally(), Looks(self.transport, self.skip_done)
        started = _Started(context, self.margin_seconds)
        for run in self._runs(self._not_done(records_of(event), tally, looks)):
            self._send([self._worked(record, tally, looks) for record in started.of(run)], tally)
        tally.fail(started.deferred)
        started.log()
        looks.log()
        settled = tally.settled()
        self._report(settled)
        return settled

    def _not_done(self, records: Sequence[Record], tally: Tally, looks: Looks) -> Sequence[Record]:
        """Return the records whose items may not be done: the others take no part in the order."""
        if self.handle is None:
            return records
        kept = []
        for record in records:
            ack = self._ack_or_error(record)
            if isinstance(ack, Ack) and looks.is_done(ack, record):
                tally.skip(record, DONE)
            else:
                kept.append(record)
        return kept

    def _runs(self, records: Sequence[Record]) -> Iterator[Sequence[Record]]:
        """Yield the records in runs, each of which is acked before the next one starts."""
        return runs_of(records) if self.handle else iter([records])

    def _send(self, worked: Sequence[Worked], tally: Tally) -> None:
        """Send the acks of a run, and count what became of its records."""
        tally.fail(each.record for each in worked if each.returns)
        tally.handed += [each.record for each in worked if each.handed]
        tally.answered += answers_of(
            self.transport, [(each.record, ack) for each in worked for ack in each.acks]
        )

    def _worked(self, record: Record, tally: Tally, looks: Looks) -> Worked:
        """Look whether the work of *record* is due, do it, and return its acks."""
        ack = self._ack(record)
        if ack is None:
            return Worked(record, returns=True)
        if self.handle is None:
            return Worked(record, [ack])
        return self._not_due(record, ack, tally, looks) or self._done(record, ack, self.handle)

    def _not_due(self, record: Record, ack: Ack, tally: Tally, looks: Looks) -> Worked | None:
        """Return what becomes of *record* without its work; None if its work is due."""
        found = looks.at(ack, record)
        if found is Look.DUE:
            return None
        if found is Look.UNMATCHED:
            tally.unmatched.append((record, Verdict.NOT_FOUND))
        if found is Look.OVER:
            tally.skip(record, looks.states[ack.batch_id])
        return Worked(record, returns=found is Look.UNKNOWN)

    def _done(self, record: Record, ack: Ack, handle: Handle) -> Worked:
        """Do the work of *record* and return its ack; none if its item was handed over, or has to return."""
        work = self._call(record, ack)
        try:
            with under_work(work):
                done(handle(record), "handle")
                work.returned()
        except BaseException as error:
            if not is_failure(error):
                raise
            failed = self._failed(record, ack, error)
            return Worked(record, returns=True) if failed is None else Worked(record, [failed])
        if work.is_open:
            _log_open(record)
            return Worked(record, returns=True)
        return Worked(record, handed=True) if work.handed else Worked(record, [ack])

    def _call(self, record: Record, ack: Ack) -> UnderWork:
        """Return the call of the function for the item of *ack*."""
        item_id = str(ItemId(ack.batch_id, ack.group_id, ack.first))
        queue = str(record.get("eventSourceARN", ""))
        return UnderWork(item_id, self._is_last(record), str(record["messageId"]), queue)

    def _failed(self, record: Record, ack: Ack, error: BaseException) -> Ack | None:
        """Return the ack of the failure at the last attempt; None if the work is to be retried."""
        if not self._is_last(record):
            _log("the work of message %s failed; the message returns to the queue", record, error)
            return None
        _log("the work of message %s failed at its last attempt; its item is failed", record, error)
        return replace(ack, outcome=Outcome.FAILURE, reason=reason_of(error))

    def _is_last(self, record: Record) -> bool:
        """Return whether a failure at this receive fails the item."""
        return self.fail_after is not None and receives(record) >= self.fail_after

    def _ack(self, record: Record) -> Ack | None:
        """Return the ack of *record*, made before its work, or None if it names no item."""
        ack = self._ack_or_error(record)
        if isinstance(ack, Ack):
            return ack
        self._nameless(record, ack)
        return None

    def _ack_or_error(self, record: Record) -> Ack | Exception:
        try:
            if self.ack_of is not None:
                return self.ack_of(record)
            return Ack.of(ItemId.parse((self.item_id or item_id_of)(record)), record["messageId"])
        except Exception as error:
            return error

    def _nameless(self, record: Record, error: Exception) -> None:
        facts = {"messageId": record["messageId"], "reason": type(error).__name__}
        logger.warning("message %s names no item; it returns to the queue", facts["messageId"], extra=facts)

    def _report(self, settled: Settled) -> None:
        """Log unmatched and deleted messages, and call *on_acked*."""
        if settled.unmatched:
            self._log_unmatched(settled.unmatched)
        log_deleted(settled)
        if self.on_acked and settled.acked:
            done(self.on_acked(settled.acked), "on_acked")

    def _log_unmatched(self, unmatched: Outcomes) -> None:
        log_unmatched(unmatched)


def handler_of(consumer: Consumer) -> Handler:
    """Return the Lambda handler that settles each delivery by *consumer*, named after its function."""

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return consumer.settle(event, context).response()

    return functools.update_wrapper(handler, consumer.handle) if consumer.handle else handler


@dataclass(slots=True)
class _Started:
    """Starts records while there is time, and keeps the others, which are *deferred*."""

    context: Any
    margin_seconds: float
    deferred: list[Record] = field(default_factory=list)
    begun: bool = False

    def of(self, run: Sequence[Record]) -> Iterator[Record]:
        """Yield the records to work on: each is started when it is requested."""
        for record in run:
            if self.deferred or (self.begun and seconds_left(self.context) < self.margin_seconds):
                self.deferred.append(record)
            else:
                self.begun = True
                yield record

    def log(self) -> None:
        if self.deferred:
            logger.warning("no time left; %d messages return to the queue, not started", len(self.deferred))


def seconds_left(context: Any) -> float:
    """Return the seconds that Lambda's *context* has left; without one there is no limit."""
    return math.inf if context is None else context.get_remaining_time_in_millis() / 1000


def _log_open(record: Record) -> None:
    facts = {"messageId": record["messageId"]}
    line = "message %s returns to the queue: it is unknown whether its item has a new owner"
    logger.warning(line, facts["messageId"], extra=facts)


def _log(line: str, record: Record, error: BaseException) -> None:
    """Log that the work of *record* raised *error*, even if ``str(error)`` raises."""
    facts = {"messageId": record["messageId"]}
    log_failure(logger, line, facts["messageId"], error=error, extra=facts)
