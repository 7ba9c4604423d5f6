"""A Lambda consumer of an SQS queue: acks the items whose work is done, in one request for each delivery.

The other messages return to the queue. For standard queues: a failed message does not block those after it.
"""

from __future__ import annotations

import functools
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanin.calling import done, is_failure, log_failure, plain
from fanin.client.reasons import fitting, reason_of
from fanin.client.transport import Acks, acked, requests_of
from fanin.errors import InvalidRequest, NewerSchema, StoreUnavailable
from fanin.isolating import SHOWN, Record, receives
from fanin.tracker import Ack, ItemId, Outcome, Verdict

logger = logging.getLogger("fanin")

"""A record of an SQS event as Lambda passes it: ``messageId``, ``body``, ``messageAttributes``, ..."""
Handle = Callable[[Record], object]
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
Outcomes = Sequence[tuple[Record, Verdict]]

UNMATCHED = frozenset({Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE})
"""Verdicts of an item that is in no batch of the tenant: its message returns to the queue."""
MARGIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a delivery.

    *acked*: the records to delete, each with the verdict of its item. *failed*: ids of the messages that
    return to the queue. *unmatched*: those of them whose item is in no batch of the tenant.
    """

    acked: Outcomes
    failed: Sequence[str]
    unmatched: Outcomes = ()

    @property
    def dropped(self) -> Outcomes:
        """The records that are deleted although nothing was acked, because their batch has expired."""
        return [(record, verdict) for record, verdict in self.acked if verdict is Verdict.EXPIRED]

    def response(self) -> dict[str, Any]:
        """Return the partial batch response."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


@dataclass(frozen=True, slots=True)
class Consumer:
    """Settles deliveries by *handle*; without one, the message itself reports the outcome of its item.

    *item_id*: record -> item id. *on_acked*: called once for each delivery, with all records that were acked
    and their verdicts. *margin_seconds*: with less time left no further record is started; the first one
    always is, so that a function with a short timeout makes progress. *fail_after*: from this receive of a
    message on, an exception acks its item as failed and the message is deleted; at most the queue's
    ``maxReceiveCount``. *ack_of*: record -> its ack, whose caller is the message id; without a *handle*.
    """

    transport: Acks
    handle: Handle | None = None
    item_id: Callable[[Record], str] | None = None
    on_acked: Callable[[Outcomes], object] | None = None
    margin_seconds: float = MARGIN_SECONDS
    fail_after: int | None = None
    ack_of: Callable[[Record], Ack] | None = None

    def __post_init__(self) -> None:
        """Refuse functions whose call does no work, because their messages would be acked without it."""
        for name in ("handle", "item_id", "on_acked", "ack_of"):
            plain(getattr(self, name), name)

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Process a delivery, ack the items whose work is done, and return the result.

        *context*: Lambda's, which reports the time left; None for no limit.
        """
        acks: list[tuple[Record, Ack]] = []
        failed: list[str] = []
        records = event["Records"]
        for position, record in enumerate(records):
            if position and _seconds_left(context) < self.margin_seconds:
                failed += _deferred(records[position:])
                break
            ack = self._done(record)
            if ack is None:
                failed.append(record["messageId"])
            else:
                acks.append((record, ack))
        return self._acked(acks, failed)

    def _done(self, record: Record) -> Ack | None:
        """Do the work of *record* and return its ack; None if the message has to return."""
        ack = self._ack(record)
        if ack is None or self.handle is None:
            return ack
        try:
            done(self.handle(record), "handle")
        except BaseException as error:
            if not is_failure(error):
                raise
            return self._failed(record, ack, error)
        return ack

    def _failed(self, record: Record, ack: Ack, error: BaseException) -> Ack | None:
        """Return the ack of the failure at the last attempt; None if the work is to be retried."""
        if self.fail_after is None or receives(record) < self.fail_after:
            _log("the work of message %s failed; the message returns to the queue", record, error)
            return None
        _log("the work of message %s failed at its last attempt; its item is failed", record, error)
        return replace(ack, outcome=Outcome.FAILURE, reason=reason_of(error))

    def _ack(self, record: Record) -> Ack | None:
        """Return the ack of *record*, made before its work, or None if it names no item."""
        try:
            if self.ack_of is not None:
                return self.ack_of(record)
            return Ack.of(ItemId.parse((self.item_id or item_id_of)(record)), record["messageId"])
        except Exception as error:
            self._nameless(record, error)
            return None

    def _nameless(self, record: Record, error: Exception) -> None:
        facts = {"messageId": record["messageId"], "reason": type(error).__name__}
        logger.warning("message %s names no item; it returns to the queue", facts["messageId"], extra=facts)

    def _acked(self, acks: Sequence[tuple[Record, Ack]], failed: list[str]) -> Settled:
        """Send *acks*, and report the verdicts to the log and to *on_acked*."""
        outcomes: list[tuple[Record, Verdict]] = []
        for part in requests_of(acks):
            outcomes += self._sent(part, failed)
        settled = _settled(outcomes, failed)
        self._report(settled)
        return settled

    def _sent(self, part: Sequence[tuple[Record, Ack]], failed: list[str]) -> Outcomes:
        """Send the acks of one request; add the messages that were not acked to *failed*."""
        try:
            report = acked(self.transport, [ack for _, ack in part], None)
        except StoreUnavailable as error:
            logger.warning("the store is unavailable; %d messages return to the queue: %s", len(part), error)
        except NewerSchema as error:
            return self._sent_by_batch(part, failed, error)
        else:
            return [(record, one.verdict) for (record, _), one in zip(part, report.results, strict=True)]
        failed += [record["messageId"] for record, _ in part]
        return []

    def _sent_by_batch(
        self, part: Sequence[tuple[Record, Ack]], failed: list[str], newer: NewerSchema
    ) -> Outcomes:
        """Send the acks of each batch alone; those of a batch that a newer release wrote return."""
        batches = list(dict.fromkeys(ack.batch_id for _, ack in part))
        if len(batches) == 1:
            logger.error("%d messages return to the queue: %s", len(part), newer)
            failed += [record["messageId"] for record, _ in part]
            return []
        parts = [[(record, ack) for record, ack in part if ack.batch_id == batch] for batch in batches]
        return [outcome for each in parts for outcome in self._sent(each, failed)]

    def _report(self, settled: Settled) -> None:
        """Log unmatched and dropped messages, each kind in one line, and call *on_acked*."""
        if settled.unmatched:
            self._log_unmatched(settled.unmatched)
        if dropped := settled.dropped:
            facts = {"count": len(dropped), "dropped": _shown(dropped)}
            logger.warning("acks dropped, because their batches have expired: %d", len(dropped), extra=facts)
        if self.on_acked and settled.acked:
            done(self.on_acked(settled.acked), "on_acked")

    def _log_unmatched(self, unmatched: Outcomes) -> None:
        facts = {"count": len(unmatched), "returned": _shown(unmatched)}
        logger.warning(
            "%d messages return to the queue: their items are in no batch of this tenant",
            len(unmatched),
            extra=facts,
        )


def _settled(outcomes: Outcomes, failed: Sequence[str]) -> Settled:
    """Return the result of a delivery from the verdicts and the ids of the messages without one."""
    matched = [(record, verdict) for record, verdict in outcomes if verdict not in UNMATCHED]
    unmatched = [(record, verdict) for record, verdict in outcomes if verdict in UNMATCHED]
    return Settled(matched, [*failed, *(record["messageId"] for record, _ in unmatched)], unmatched)


def handler_of(consumer: Consumer) -> Handler:
    """Return the Lambda handler that settles each delivery by *consumer*, named after its function."""

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return consumer.settle(event, context).response()

    return functools.update_wrapper(handler, consumer.handle) if consumer.handle else handler


def dead_letter_message_ack(record: Record, item_id: Callable[[Record], str] | None = None) -> Ack:
    """Return the ack of a dead-letter message: its item failed, because no consumer could process it.

    *item_id*: record -> item id; by default :func:`item_id_of`. Raises InvalidRequest if the message names
    no item.
    """
    item = ItemId.parse((item_id or item_id_of)(record))
    source = str((record.get("attributes") or {}).get("DeadLetterQueueSourceArn", ""))
    queue = f" of {source.rsplit(':', 1)[-1]}" if source else ""
    return Ack.of(item, record["messageId"], Outcome.FAILURE, fitting(f"dead-letter message{queue}"))


def item_id_of(record: Record) -> str:
    """Return the item id of *record*.

    It is ``itemId`` of a body that is a JSON object; else the whole body, if that is an item id; else the
    message attribute ``itemId``. Raises InvalidRequest if there is none of them.
    """
    body = record["body"].strip()
    attributes = record.get("messageAttributes") or {}
    for found in (_in_json(body), _whole(body), (attributes.get("itemId") or {}).get("stringValue")):
        if isinstance(found, str):
            return found
    raise InvalidRequest("the message names no item", field="itemId")


def _in_json(body: str) -> Any:
    """Return the value of ``itemId`` in a JSON object; None if the body is no such object."""
    if not body.startswith("{"):
        return None
    try:
        return json.loads(body).get("itemId")
    except (ValueError, RecursionError):
        return None


def _whole(body: str) -> str | None:
    try:
        return str(ItemId.parse(body))
    except InvalidRequest:
        return None


def _deferred(records: Sequence[Record]) -> list[str]:
    """Return the ids of *records*, which are not started for lack of time."""
    logger.warning("no time left; %d messages return to the queue, not started", len(records))
    return [record["messageId"] for record in records]


def _shown(outcomes: Outcomes) -> list[dict[str, str]]:
    """Return the first of *outcomes* for a log line."""
    return [{"messageId": record["messageId"], "verdict": verdict} for record, verdict in outcomes[:SHOWN]]


def _log(line: str, record: Record, error: BaseException) -> None:
    """Log that the work of *record* raised *error*, even if ``str(error)`` raises."""
    facts = {"messageId": record["messageId"]}
    log_failure(logger, line, facts["messageId"], error=error, extra=facts)


def _seconds_left(context: Any) -> float:
    return math.inf if context is None else context.get_remaining_time_in_millis() / 1000
