"""The demo's consumer: indexes packages and acks their items, or hands them over as tasks or jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.api import strict_json
from fanin.client.consuming.consumer import Consumer
from fanin.client.consuming.settling import Outcomes, Settled
from fanin.client.transports.transport import Acks
from fanin.errors import InvalidRequest
from fanin.tracker import ItemId, Verdict
from functions.demo.bundling import Bundling
from functions.demo.catalog import checked
from functions.demo.chaos import Chaos, Fault
from functions.demo.index import Entry, Index
from functions.demo.queueing import Queueing


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

    *retry_soon*: makes the messages that return to their queue visible again after a second.
    """

    transport: Acks
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
        settled = self._ack(worked)
        acked = self.units()
        counts = _counts(messages, registered, queued, settled.acked)
        self._count(counts, {"writeUnits": before_acks + acked, "ackUnits": acked})
        whole = {message.message_id for message in messages if message.fault is Fault.NONE}
        kept = whole & {*registered, *queued, *(record["messageId"] for record, _ in settled.acked)}
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

    def _ack(self, messages: Sequence[Message]) -> Settled:
        """Ack the items of all other messages but those that fail on purpose."""
        others = [message for message in messages if not self._hands_over(message.entry)]
        return Consumer(self.transport).settle(
            {"Records": [message.record for message in others if message.fault is Fault.NONE]}
        )

    def _read(self, record: Mapping[str, Any]) -> Message | None:
        """Return the message of *record*, or None if it is invalid: it ends in the dead-letter queue."""
        try:
            body = strict_json.parse(record["body"])
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
    messages: Sequence[Message], registered: frozenset[str], queued: frozenset[str], acked: Outcomes
) -> Mapping[str, Counter[str]]:
    """Return the counts of a delivery by batch; *registered* and *queued* are message ids."""
    verdicts = {record["messageId"]: verdict for record, verdict in acked}
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


def _sent_at(body: Mapping[str, Any]) -> int:
    sent_at = body.get("sentAt")
    if type(sent_at) is not int:
        raise InvalidRequest("sentAt is a time in ms", field="sentAt")
    return sent_at
