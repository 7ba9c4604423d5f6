"""A consumer of an SQS queue as a Lambda: what is done is acked, one request a delivery; the rest goes back.

For standard queues: a failed message does not hold up those after it.
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
from fanin.client.transport import Transport, acked, requests_of
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.tracker import Ack, ItemId, Outcome, Verdict

logger = logging.getLogger("fanin")

Record = Mapping[str, Any]
"""A record of an SQS event as Lambda hands it over: ``messageId``, ``body``, ``messageAttributes``, ..."""
Handle = Callable[[Record], object]
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
Outcomes = Sequence[tuple[Record, Verdict]]

DROPPED = frozenset({Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE})
MARGIN_SECONDS = 2.0
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Settled:
    """How a delivery went: a verdict for each record that was acked, and the ids of those to come back."""

    acked: Outcomes
    failed: Sequence[str]

    @property
    def dropped(self) -> Outcomes:
        """Records whose item no batch of ours has: delivering them again would not help."""
        return [(record, verdict) for record, verdict in self.acked if verdict in DROPPED]

    def response(self) -> dict[str, Any]:
        """The partial batch response."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


@dataclass(frozen=True, slots=True)
class Consumer:
    """What is done with a delivery; *handle* is None where the message itself says how its item fared.

    *item_id*: record -> item id. *on_acked*: told of all records that were acked, with their verdicts, once a
    delivery. *margin_seconds*: with less time left no record is started, except for the first: a function
    that has less from the outset would else never move. *fail_after*: work that fails when the message is
    received for so many times, or more, is acked as failed, and the message does not go back; at most the
    queue's ``maxReceiveCount``. *ack_of*: record -> its ack, in its message's name; without a *handle*.
    """

    transport: Transport
    handle: Handle | None = None
    item_id: Callable[[Record], str] | None = None
    on_acked: Callable[[Outcomes], object] | None = None
    margin_seconds: float = MARGIN_SECONDS
    fail_after: int | None = None
    ack_of: Callable[[Record], Ack] | None = None

    def __post_init__(self) -> None:
        """Refuse functions that do no work when they are called: their messages would be acked without."""
        for name in ("handle", "item_id", "on_acked", "ack_of"):
            plain(getattr(self, name), name)

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Work through a delivery, ack what was done, and say how it went.

        *context*: the Lambda's, asked for the time left; None where there is no hurry.
        """
        done: list[tuple[Record, Ack]] = []
        failed: list[str] = []
        records = event["Records"]
        for position, record in enumerate(records):
            if position and _seconds_left(context) < self.margin_seconds:
                failed += _put_off(records[position:])
                break
            ack = self._done(record)
            if ack is None:
                failed.append(record["messageId"])
            else:
                done.append((record, ack))
        return self._acked(done, failed)

    def _done(self, record: Record) -> Ack | None:
        """The record's ack, once its work is done; None where the record has to come again."""
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
        """The ack of work that was tried for the last time; None where it is to be tried again."""
        if self.fail_after is None or receives(record) < self.fail_after:
            _log("the work of message %s failed; it goes back", record, error)
            return None
        _log("the work of message %s failed for the last time; its item is failed", record, error)
        return replace(ack, outcome=Outcome.FAILURE, reason=reason_of(error))

    def _ack(self, record: Record) -> Ack | None:
        """The ack that the record asks for; made before any work, which could not be acked without."""
        try:
            if self.ack_of is not None:
                return self.ack_of(record)
            return Ack.of(ItemId.parse((self.item_id or item_id_of)(record)), record["messageId"])
        except Exception as error:
            self._nameless(record, error)
            return None

    def _nameless(self, record: Record, error: Exception) -> None:
        facts = {"messageId": record["messageId"], "reason": type(error).__name__}
        logger.warning("message %s names no item; it goes back", facts["messageId"], extra=facts)

    def _acked(self, done: Sequence[tuple[Record, Ack]], failed: list[str]) -> Settled:
        settled: list[tuple[Record, Verdict]] = []
        for part in requests_of(done):
            try:
                report = acked(self.transport, [ack for _, ack in part], None)
            except StoreUnavailable as error:
                logger.warning("the store is unavailable; %d messages go back: %s", len(part), error)
                failed += [record["messageId"] for record, _ in part]
                continue
            settled += [(record, one.verdict) for (record, _), one in zip(part, report.results, strict=True)]
        return self._told(Settled(settled, failed))

    def _told(self, settled: Settled) -> Settled:
        """Tell the log what was dropped, one line a delivery, and the hook what was acked."""
        if dropped := settled.dropped:
            shown = [{"messageId": record["messageId"], "verdict": verdict} for record, verdict in dropped]
            facts = {"count": len(dropped), "dropped": shown[:SHOWN]}
            logger.warning("acks dropped, for items that are in no batch: %d", len(dropped), extra=facts)
        if self.on_acked and settled.acked:
            done(self.on_acked(settled.acked), "on_acked")
        return settled


def handler_of(consumer: Consumer) -> Handler:
    """The Lambda handler that settles each delivery by *consumer*, under the name of its function."""

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return consumer.settle(event, context).response()

    return functools.update_wrapper(handler, consumer.handle) if consumer.handle else handler


def failed_letter(record: Record, item_id: Callable[[Record], str] | None = None) -> Ack:
    """The ack of a message that came to a dead-letter queue: its item failed, as nobody could do it.

    *item_id*: record -> item id, by default as :func:`item_id_of` finds it. Raises InvalidRequest where the
    message names no item.
    """
    item = ItemId.parse((item_id or item_id_of)(record))
    source = str((record.get("attributes") or {}).get("DeadLetterQueueSourceArn", ""))
    where = f" of {source.rsplit(':', 1)[-1]}" if source else ""
    return Ack.of(item, record["messageId"], Outcome.FAILURE, fitting(f"dead letter{where}"))


def item_id_of(record: Record) -> str:
    """The item that *record* names in the usual places.

    ``itemId`` of a body that is a JSON object; else the whole body, where it is an item id; else the
    message attribute ``itemId``. Raises InvalidRequest where none of them is there.
    """
    body = record["body"].strip()
    attributes = record.get("messageAttributes") or {}
    for found in (_in_json(body), _whole(body), (attributes.get("itemId") or {}).get("stringValue")):
        if isinstance(found, str):
            return found
    raise InvalidRequest("the message names no item", field="itemId")


def _in_json(body: str) -> Any:
    """What a JSON object calls ``itemId``; None where the body is no such object."""
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


def _put_off(records: Sequence[Record]) -> list[str]:
    """The ids of *records* for which no time is left."""
    logger.warning("no time left; %d messages go back as they came", len(records))
    return [record["messageId"] for record in records]


def _log(line: str, record: Record, error: BaseException) -> None:
    """Log that the work of *record* raised *error*, whatever that makes of being printed."""
    facts = {"messageId": record["messageId"]}
    log_failure(logger, line, facts["messageId"], error=error, extra=facts)


def receives(record: Record) -> int:
    """How often the message was received, this time included; 1 where the record does not say."""
    return int((record.get("attributes") or {}).get("ApproximateReceiveCount", 1))


def _seconds_left(context: Any) -> float:
    return math.inf if context is None else context.get_remaining_time_in_millis() / 1000
