"""SQS messages that are acks: read as one delivery, acked in one request, answered one by one.

Imports neither the resolver nor the models of the HTTP edge, so that no cold start pays for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fanin.api import strict_json
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.tracker import Ack, AckReport, ItemId, Result, Tracker, Verdict

BODY_MAX = 1024
"""Characters of a message: an item id has less than 100."""
REFUSED = frozenset({Verdict.NOT_FOUND, Verdict.OUT_OF_RANGE})


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one invocation received: the acks in it, and the ids of messages that go back in any case."""

    acks: tuple[Ack, ...]
    failed: tuple[str, ...]

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Delivery:
        """Read an SQS *event*; the message id is the caller, the same again when it is delivered again."""
        acks: list[Ack] = []
        malformed: list[str] = []
        for record in event["Records"]:
            try:
                acks.append(Ack.of(_item_of(record["body"]), record["messageId"]))
            except InvalidRequest:
                malformed.append(record["messageId"])
        return cls(tuple(acks), failed=tuple(malformed))


@dataclass(frozen=True, slots=True)
class Settled:
    """How a delivery went: the messages to deliver again, and the tracker's report if it gave one."""

    failed: tuple[str, ...]
    report: AckReport | None

    @property
    def dropped(self) -> list[Result]:
        """Acks of items that no batch of ours has: delivering them again would not help."""
        results = self.report.results if self.report else ()
        return [result for result in results if REFUSED & result.counts.keys()]

    def response(self) -> dict[str, Any]:
        """The partial batch response."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


def settle(tracker: Tracker, tenant: str, delivery: Delivery) -> Settled:
    """Ack a delivery in one request; a store out of reach fails all of its messages."""
    try:
        report = tracker.ack(tenant, delivery.acks)
    except StoreUnavailable:
        return Settled(delivery.failed + _callers(delivery.acks), None)
    return Settled(delivery.failed, report)


def _callers(acks: Iterable[Ack]) -> tuple[str, ...]:
    return tuple(ack.caller for ack in acks)


def _item_of(body: str) -> ItemId:
    """A body is an item id, or ``{"itemId": ...}`` and nothing else."""
    if len(body) > BODY_MAX:
        raise InvalidRequest("an ack is a short message")
    if not body.lstrip().startswith("{"):
        return ItemId.parse(body.strip())
    document = strict_json.parse(body)
    if document.keys() != {"itemId"} or not isinstance(document["itemId"], str):
        raise InvalidRequest("an ack is an item id, or an object with an itemId and nothing else")
    return ItemId.parse(document["itemId"])
