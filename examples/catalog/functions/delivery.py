"""A delivery of the SQS queue: indexes packages, acks their items or hands them over as tasks or jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.catalog.functions.bundling import Bundling
from examples.catalog.functions.chaos import Chaos, Fault
from examples.catalog.functions.index import Entry, Index
from examples.catalog.functions.package import checked
from examples.catalog.functions.queueing import Queueing
from fanin import AckReport, InvalidRequest, StoreUnavailable, Verdict
from fanin.tracker import ItemId

ACKED = (Verdict.ACCEPTED, Verdict.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Message:
    """A valid message and its fault."""

    record: Mapping[str, Any]
    batch_id: str
    entry: Entry
    fault: Fault

    @property
    def message_id(self) -> str:
        return str(self.record["messageId"])


@dataclass(frozen=True, slots=True)
class Worker:
    """Processes deliveries; *now* returns the time in ms, *units* the write units since its last call.

    *ack*: that of the client. *retry_soon*: makes the messages that return to their queue visible again after
    a second.
    """

    ack: Callable[[Sequence[str]], AckReport]
    index: Index
    bundling: Bundling
    queueing: Queueing
    units: Callable[[], float]
    chaos: Chaos
    now: Callable[[], int]
    retry_soon: Callable[[Sequence[Mapping[str, Any]]], None]

    def work(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Process an SQS *event*: write rows, register tasks, add jobs, ack all other items in one call.

        Returns the partial batch response: the messages to be retried.
        """
        messages = [message for record in event["Records"] if (message := self._read(record))]
        worked = [message for message in messages if message.fault is not Fault.BEFORE_WORK]
        self.index.write([message.entry for message in worked if not self.queueing.takes(message.entry)])
        registered, queued = self._register(worked), self._queue(worked)
        before_acks = self.units()
        verdicts = self._ack(worked)
        acked = self.units()
        counts = _counts(messages, registered, queued, verdicts)
        self._count(counts, {"writeUnits": before_acks + acked, "ackUnits": acked})
        whole = {message.message_id for message in messages if message.fault is Fault.NONE}
        kept = whole & {*registered, *queued, *verdicts}
        failed = [record for record in event["Records"] if record["messageId"] not in kept]
        self.retry_soon(failed)
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}

    def _register(self, messages: Sequence[Message]) -> frozenset[str]:
        """Register tasks for the bundled packages; return the message ids of those that were registered."""
        bundled = [message for message in messages if self.bundling.takes(message.entry)]
        registered = self.bundling.hand_over([each.entry for each in bundled]) if bundled else []
        return frozenset(
            each.message_id for each, is_done in zip(bundled, registered, strict=True) if is_done
        )

    def _queue(self, messages: Sequence[Message]) -> frozenset[str]:
        """Add jobs for the queued packages; return the message ids of those that have one."""
        queued = [message for message in messages if self.queueing.takes(message.entry)]
        added = bool(queued) and self.queueing.hand_over([message.entry for message in queued])
        return frozenset(message.message_id for message in queued if added)

    def _hands_over(self, entry: Entry) -> bool:
        return self.bundling.takes(entry) or self.queueing.takes(entry)

    def _ack(self, messages: Sequence[Message]) -> Mapping[str, Verdict]:
        """Ack the items of all other messages but those that fail on purpose; verdicts by message id."""
        others = [each for each in messages if not self._hands_over(each.entry) and each.fault is Fault.NONE]
        try:
            report = self.ack([message.entry.item_id for message in others]) if others else AckReport()
        except StoreUnavailable:
            return {}
        pairs = zip(others, report.results, strict=bool(others))
        return {message.message_id: each.verdict for message, each in pairs if each.verdict in ACKED}

    def _read(self, record: Mapping[str, Any]) -> Message | None:
        """Return the message of *record*, or None if it is invalid: it ends in the dead-letter queue."""
        try:
            body = _body_of(record)
            item = ItemId.parse(str(body.get("itemId")))
            entry = Entry(str(item), checked(body.get("record")), _sent_at(body), self.now())
        except InvalidRequest:
            return None
        receives = int(record["attributes"]["ApproximateReceiveCount"])
        return Message(record, item.batch_id, entry, self.chaos.fault(str(item), receives))

    def _count(self, counts: Mapping[str, Counter[str]], spent: Mapping[str, float]) -> None:
        """Add to the counts of each batch; a delivery's cost is counted for its first batch."""
        for batch_id, amounts in counts.items():
            self.index.count(batch_id, {**amounts, **spent})
            spent = {}


def _counts(
    messages: Sequence[Message],
    registered: frozenset[str],
    queued: frozenset[str],
    verdicts: Mapping[str, Verdict],
) -> Mapping[str, Counter[str]]:
    """Return the counts of a delivery by batch; *registered* and *queued* are message ids."""
    counts: dict[str, Counter[str]] = {}
    for message in messages:
        verdict = verdicts.get(message.message_id)
        counts.setdefault(message.batch_id, Counter()).update(
            deliveries=1,
            faults=int(message.fault is not Fault.NONE),
            registrations=int(message.message_id in registered),
            jobs=int(message.message_id in queued),
            acks=int(verdict is not None),
            repeats=int(verdict is Verdict.DUPLICATE),
        )
    return counts


def _body_of(record: Mapping[str, Any]) -> dict[str, Any]:
    try:
        body = json.loads(record["body"])
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidRequest("the body is not an object", field="body")
    return body


def _sent_at(body: Mapping[str, Any]) -> int:
    sent_at = body.get("sentAt")
    if type(sent_at) is not int:
        raise InvalidRequest("sentAt is a time in ms", field="sentAt")
    return sent_at
