"""A Lambda consumer of an SQS queue: acks the items whose work is done; the other messages return.

The work of an item whose batch is over is not started. A redelivered message is worked on last and alone, as
``ordering`` says. In a FIFO queue, the messages of a group return without work behind one that returns.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self
from weakref import ref

from fanin.client.argument_checks.reasons import reason_for_good, reason_of
from fanin.client.consuming.answering import Named, answers_of
from fanin.client.consuming.ordering import runs_of
from fanin.client.consuming.records import item_id_of
from fanin.client.consuming.settling import (
    RETURNS,
    Outcomes,
    Settled,
    Tally,
    Worked,
    log_deleted,
    log_unmatched,
)
from fanin.client.consuming.skipping import FailuresForGood, Look, Looks
from fanin.client.consuming.steps import Step, Steps, take
from fanin.client.handing_over.under_work import UnderWork, delivery, under_work
from fanin.client.tracing import OFF, acking, delivering, note_failure, note_items, processing
from fanin.client.transports.transport import ITEMS_A_REQUEST, Acks
from fanin.errors import InvalidRequest
from fanin.isolating import Record, receives, records_of
from fanin.result_texts import result_text
from fanin.tracker import Ack, ItemId, Outcome, Verdict
from fanin.types import Returned
from fanin.user_functions import (
    INSTEAD,
    UNDER_ACKS,
    WorkNotDone,
    failed_for_good,
    finished,
    is_failure,
    log_failure,
    synchronous,
)

logger = logging.getLogger("fanin")

Handle = Callable[[Record], Returned]
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
    *results*: what *handle* returns is the result of its item, whose batch was opened with ``results``.
    *skip_done*: do no work either of an item that is done, whose message is new; that of a redelivered one
    is never repeated. *in_tasks*: *handle* is a coroutine function, and each call of it a task of asyncio.
    *failures*: those that the function decided, whose work is not repeated either.
    """

    transport: Acks
    handle: Handle | None = None
    item_id: Callable[[Record], str] | None = None
    on_acked: Callable[[Outcomes], object] | None = None
    margin_seconds: float = MARGIN_SECONDS
    fail_after: int | None = None
    ack_of: Callable[[Record], Ack] | None = None
    skip_done: bool = False
    results: bool = False
    in_tasks: bool = False
    failures: FailuresForGood = field(default_factory=FailuresForGood)

    def __post_init__(self) -> None:
        """Refuse functions whose call does no work, because their messages would be acked without it."""
        for name in ("handle", "item_id", "on_acked", "ack_of"):
            if not (self.in_tasks and name == "handle"):
                synchronous(getattr(self, name), name, UNDER_ACKS if name == "handle" else INSTEAD)

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Process a delivery, ack the items whose work is done, and return the result.

        *context*: Lambda's, which reports the time left; None for no limit.
        """
        records = records_of(event)
        tally, looks = Tally(records if self._works else ()), Looks(self.transport, self.skip_done)
        started = _Started(context, self.margin_seconds)
        with delivering(records), delivery():
            for run in self._runs(self._not_done(records, tally, looks, started)):
                self._settle_run(started.of(run, tally), tally, looks)
        tally.fail(started.deferred)
        started.log()
        looks.log()
        settled = tally.settled()
        self._report(settled)
        return settled

    @property
    def _works(self) -> bool:
        """Whether a function does the work of the records; acks alone have no order."""
        return self.handle is not None

    def _not_done(
        self, records: Sequence[Record], tally: Tally, looks: Looks, started: _Started
    ) -> Sequence[Record]:
        """Return the records whose items may not be done: the others take no part in the order."""
        wanted = [record for record in records if self.handle is not None and looks.wants(record)]
        acks = [(record, self._ack_or_error(record)) for record in wanted]
        gone: set[str] = set()
        for part in started.looks([(record, ack) for record, ack in acks if isinstance(ack, Ack)]):
            gone |= {each.record["messageId"] for each in looks.verdicts(part) if tally.look(each)}
        gone |= {record["messageId"] for record in started.deferred}
        return [record for record in records if record["messageId"] not in gone]

    def _runs(self, records: Sequence[Record]) -> Iterator[Sequence[Record]]:
        """Yield the records in runs, each of which is acked before the next one starts."""
        return runs_of(records) if self._works else iter([records])

    def _settle_run(self, run: Iterable[Record], tally: Tally, looks: Looks) -> None:
        """Work on the records of a run, and ack them together."""
        worked = []
        for record in run:
            worked.append(take(self._traced(record, tally, looks)))
            tally.note(worked[-1])
        self._send(worked, tally)

    def _send(self, worked: Sequence[Worked], tally: Tally) -> None:
        """Send the acks of a run."""
        acks = [(each.record, ack) for each in worked for ack in each.acks]
        with acking([each.record for each in worked if each.acks]) as traced:
            answers = answers_of(self.transport.ack, acks)
            if unanswered := sum(each.counts is None for each in answers):
                traced.fail("unanswered", f"{unanswered} of {len(answers)} acks")
        tally.answered += answers

    def work_alone(self, record: Record) -> Steps[tuple[Worked, Tally]]:
        """Work on a record of no delivery; ``settle_together`` sends its acks, and those of others."""
        tally, looks = Tally(), Looks(self.transport, self.skip_done)
        worked = Worked(record)
        not_done = partial(self._not_done, [record], tally, looks, _Started(None, 0))
        if not looks.wants(record) or (yield Step(not_done)):
            worked = yield from self._traced(record, tally, looks)
            tally.note(worked)
        looks.log()
        return worked, tally

    def settle_together(self, ended: Sequence[tuple[Worked, Tally]]) -> Settled:
        """Send the acks of records that were worked on alone, with as few writes as those of a delivery."""
        tally = Tally()
        for _, each in ended:
            tally.include(each)
        self._send([worked for worked, _ in ended], tally)
        settled = tally.settled()
        self._report(settled)
        return settled

    def within(self, context: Any) -> Self:  # noqa: ARG002  # chunks are worked on for long
        """Return the consumer for records of no delivery; *context* reports the time left to each of them."""
        return self

    def _traced(self, record: Record, tally: Tally, looks: Looks) -> Steps[Worked]:
        """Work on *record* in a span of its own, if a function does its work."""
        with processing(record) if self._works else OFF:
            return (yield from self._worked(record, tally, looks))

    def _worked(self, record: Record, tally: Tally, looks: Looks) -> Steps[Worked]:
        """Look whether the work of *record* is due, do it, and return its acks."""
        ack = self._ack(record)
        if ack is None:
            return Worked(record, returns=True)
        if self.handle is None:
            return Worked(record, [ack])
        note_items(ack)
        stopped = yield from self._not_due(record, ack, tally, looks)
        return stopped or (yield from self._work_done(record, ack, partial(self.handle, record)))

    def _not_due(self, record: Record, ack: Ack, tally: Tally, looks: Looks) -> Steps[Worked | None]:
        """Return the outcome of *record* if its work is skipped; None if its work is due."""
        found = yield Step(partial(looks.at, ack, record))
        if found is Look.DUE:
            return None
        if found is Look.UNMATCHED:
            tally.unmatched.append((record, Verdict.NOT_FOUND))
        if found is Look.OVER:
            tally.skip(record, looks.states[ack.batch_id], ack.batch_id)
        return Worked(record, returns=found is Look.UNKNOWN)

    def _work_done(self, record: Record, ack: Ack, work: Callable[[], object]) -> Steps[Worked]:
        """Do the *work* of an item and return its ack; none if it was handed over, or has to return."""
        if (known := self.failures.of(ack)) is not None:
            return Worked(record, [known])
        call = self._call(record, ack)
        try:
            with under_work(call, in_task=self.in_tasks):
                ack = yield from self._run(call, ack, work)
                yield from _cancel_unclosed(call)
        except BaseException as error:
            if not is_failure(error):
                raise
            note_failure(error, call.item_id)
            failed = self._failed(call, ack, error)
            return Worked(record, returns=True) if failed is None else Worked(record, [failed])
        if call.is_open:
            _log_open(record)
            return Worked(record, returns=True)
        if call.handed:
            return Worked(record, handed=True)
        settled = call.settled(ack)
        self.failures.note(settled)
        return Worked(record, [settled])

    def _run(self, call: UnderWork, ack: Ack, work: Callable[[], object]) -> Steps[Ack]:
        """Do the *work* of a call, and return its ack with its result.

        What the work raises propagates, but for a failure for good, which is noted.
        """
        try:
            result = finished((yield Step(work, is_work=True)), "the function")
            _refuse_failures(result)
            return replace(ack, result=result_text(result)) if self.results else ack
        except Exception as error:
            failed = failed_for_good(error)
            if failed is None:
                raise
            note_failure(failed, call.item_id)
            failure = replace(ack, outcome=Outcome.FAILURE, reason=reason_for_good(failed))
            call.fail_for_good(failure)
            _log_for_good(call, failure)
            return ack

    def _call(self, record: Record, ack: Ack) -> UnderWork:
        """Return the call of the function for the item of *ack*."""
        item_id = str(ItemId(ack.batch_id, ack.group_id, ack.first))
        queue = str(record.get("eventSourceARN", ""))
        return UnderWork(item_id, self._is_last(record), str(record["messageId"]), queue)

    def _failed(self, call: UnderWork, ack: Ack, error: BaseException) -> Ack | None:
        """Return the ack of the failure at the last attempt; None if the work is to be retried."""
        if not call.last:
            _log(f"the work of item %s failed; message %s {RETURNS}", call, error)
            return None
        _log("the work of item %s failed at the last attempt of message %s; it is failed", call, error)
        return replace(ack, outcome=Outcome.FAILURE, reason=reason_of(error))

    def _is_last(self, record: Record) -> bool:
        """Return whether a failure at this receive fails the item."""
        return self.fail_after is not None and receives(record) >= self.fail_after

    def _ack(self, record: Record) -> Ack | None:
        """Return the ack of *record*, made before its work, or None if it names no item."""
        ack = self._ack_or_error(record)
        if isinstance(ack, Ack):
            return ack
        self._log_unnamed(record, ack)
        return None

    def _ack_or_error(self, record: Record) -> Ack | Exception:
        try:
            if self.ack_of is not None:
                return self.ack_of(record)
            return Ack.of(ItemId.parse((self.item_id or item_id_of)(record)), record["messageId"])
        except Exception as error:
            return error

    def _log_unnamed(self, record: Record, error: Exception) -> None:
        facts = {"messageId": record["messageId"], "reason": type(error).__name__}
        why = str(error) if isinstance(error, InvalidRequest) else f"item_id raised {facts['reason']}"
        line = f"message %s cannot be worked on, and {RETURNS}: %s"
        logger.warning(line, facts["messageId"], why, extra=facts)

    def _report(self, settled: Settled) -> None:
        """Log unmatched and deleted messages, and call *on_acked*."""
        if settled.unmatched:
            self._log_unmatched(settled.unmatched)
        log_deleted(settled)
        if self.on_acked and settled.acked:
            finished(self.on_acked(settled.acked), "on_acked")

    def _log_unmatched(self, unmatched: Outcomes) -> None:
        log_unmatched(unmatched)


def handler_of(consumer: Consumer) -> Handler:
    """Return the Lambda handler that settles each delivery by *consumer*, named after its function."""

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return consumer.settle(event, context).response()

    if consumer.handle is not None:
        functools.update_wrapper(handler, consumer.handle)
    return belonging_to(consumer, handler)


def belonging_to(consumer: Consumer, handler: Handler) -> Handler:
    """Return *handler*, in which a worker finds its consumer; a function around it is another handler."""
    handler.__fanin_consumer__ = (ref(handler), consumer)  # type: ignore[attr-defined]
    return handler


@dataclass(slots=True)
class _Started:
    """Starts records while there is time, and keeps the others, which are *deferred*.

    *held*: how many were not started because a message before them in their group returns.
    *last_seconds_left*: the seconds that were left at the last look.
    """

    context: Any
    margin_seconds: float
    deferred: list[Record] = field(default_factory=list)
    begun: bool = False
    late: bool = False
    held: int = 0
    last_seconds_left: float = math.inf

    def looks(self, named: Sequence[Named]) -> Iterator[Sequence[Named]]:
        """Yield records to look at, those of one request at a time; half of the time is for the work."""
        until = max(self._seconds_left() / 2, self.margin_seconds) if named else 0
        for first in range(0, len(named), ITEMS_A_REQUEST):
            if first and self._seconds_left() < until:
                self.deferred += [record for record, _ in named[first:]]
                return
            yield named[first : first + ITEMS_A_REQUEST]

    def of(self, run: Sequence[Record], tally: Tally) -> Iterator[Record]:
        """Yield the records to work on: each is started when it is requested."""
        for record in run:
            self.late = self.late or (self.begun and self._seconds_left() < self.margin_seconds)
            if self.late:
                self.deferred.append(record)
            elif tally.is_behind(record):
                self.held += 1
            else:
                self.begun = True
                yield record

    def _seconds_left(self) -> float:
        """Return the seconds that are left now, and keep them for the log."""
        self.last_seconds_left = seconds_left(self.context)
        return self.last_seconds_left

    def log(self) -> None:
        if self.deferred:
            line = (
                "no time left: %.1f s of the invocation, and margin_seconds is %.1f: %d messages return to"
                " the queue, not started; raise the timeout of the function, or lower margin_seconds"
            )
            logger.warning(line, self.last_seconds_left, self.margin_seconds, len(self.deferred))
        if self.held:
            logger.warning("%d messages return to the queue, behind one of their group", self.held)


def seconds_left(context: Any) -> float:
    """Return the seconds that Lambda's *context* has left; without one there is no limit."""
    return math.inf if context is None else context.get_remaining_time_in_millis() / 1000


def _cancel_unclosed(call: UnderWork) -> Steps[None]:
    """Note that the function has returned; what it gave up is cancelled by requests."""
    if call.unclosed:
        yield Step(call.cancel_unclosed)
    else:
        call.cancel_unclosed()


def _refuse_failures(result: object) -> None:
    """Raise WorkNotDone for the answer of a handler that names messages which are not done."""
    if isinstance(result, dict) and result.get("batchItemFailures"):
        raise WorkNotDone("the function returned batchItemFailures of a handler: its work is not done")


def _log_open(record: Record) -> None:
    facts = {"messageId": record["messageId"]}
    line = f"message %s {RETURNS}: it is unknown whether its item has a new owner"
    logger.warning(line, facts["messageId"], extra=facts)


def _log_for_good(call: UnderWork, ack: Ack) -> None:
    facts = {"messageId": call.message_id, "itemId": call.item_id, "reason": ack.reason}
    line = "item %s is failed for good by its function: %s"
    logger.warning(line, call.item_id, ack.reason, extra=facts)


def _log(line: str, call: UnderWork, error: BaseException) -> None:
    """Log that *call* raised *error*, even if ``str(error)`` raises."""
    facts = {"messageId": call.message_id, "itemId": call.item_id}
    log_failure(logger, line, call.item_id, call.message_id, error=error, extra=facts)
