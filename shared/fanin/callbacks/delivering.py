"""Deliver the events of webhooks from their queue: retry with growing pauses for a day, then give up."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from fanin.callbacks.model import RETRIED_FOR, pause_seconds
from fanin.grouper.rules.downstream import Answer
from fanin.grouper.rules.model import Outcome, Verdict
from fanin.grouper.rules.responses import retried
from fanin.isolating import Record, receives
from fanin.pacing import Each, each_in_turn

logger = logging.getLogger("fanin")


class Posts(Protocol):
    """A webhook."""

    def post(self, event_id: str, body: bytes) -> Answer:
        """Send an event, and return the outcome; raise nothing."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The outcome of a delivery's messages, by their ids: *returned* ones are delivered again."""

    delivered: tuple[str, ...]
    returned: tuple[str, ...]
    given_up: tuple[str, ...]

    def response(self) -> dict[str, Any]:
        """Return the response for an event source with ``ReportBatchItemFailures``."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.returned]}


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Deliverer:
    """Sends the events of messages to their *webhooks*, by the names of the callbacks.

    *isolate*: moves messages to the dead-letter queue, and returns the ids of those it moved. *hide*: hides
    messages of a queue that return: receipt handle -> seconds. *each*: makes independent calls.
    """

    webhooks: Mapping[str, Posts]
    isolate: Callable[[Sequence[Record]], Collection[str]]
    hide: Callable[[str, Mapping[str, int]], None]
    each: Each = each_in_turn
    now: Callable[[], datetime] = _now
    jitter: Callable[[], float] = field(default=random.random)

    def deliver(self, records: Sequence[Record]) -> Delivered:
        """Send the event of each record. Safe to repeat: a receiver compares the ids of events."""
        answers = self.each(self._answer, records)
        pairs = list(zip(records, answers, strict=True))
        failed = [(record, answer) for record, answer in pairs if answer.whole.verdict is not Verdict.OK]
        hopeless = [record for record, answer in failed if self._is_hopeless(record, answer)]
        moved = frozenset(self.isolate(hopeless)) if hopeless else frozenset()
        back = [(record, answer) for record, answer in failed if record["messageId"] not in moved]
        self._hide(back)
        returned = tuple(record["messageId"] for record, _ in back)
        sent = tuple(r["messageId"] for r, answer in pairs if answer.whole.verdict is Verdict.OK)
        return Delivered(sent, returned, tuple(sorted(moved)))

    def _answer(self, record: Record) -> Answer:
        name, event_id = named_in(record["body"])
        if name is None or event_id is None:
            answer = Answer(Outcome(Verdict.FAIL, "the message is no event of a callback"))
        elif name not in self.webhooks:
            answer = retried(f"no webhook has the name {name}")
        else:
            answer = self.webhooks[name].post(event_id, record["body"].encode())
        if answer.whole.verdict is not Verdict.OK:
            logger.warning("the event %s was not delivered to %s: %s", event_id, name, answer.whole.detail)
        return answer

    def _is_hopeless(self, record: Record, answer: Answer) -> bool:
        """Whether the event is given up on: it was refused, or has been retried for a day."""
        sent_at = int(record["attributes"]["SentTimestamp"])
        age = self.now() - datetime.fromtimestamp(sent_at / 1000, UTC)
        return answer.whole.verdict is Verdict.FAIL or age >= RETRIED_FOR

    def _hide(self, back: Sequence[tuple[Record, Answer]]) -> None:
        if not back:
            return
        pauses = {record["receiptHandle"]: self._pause(record, answer.retry_after) for record, answer in back}
        self.hide(back[0][0]["eventSourceARN"], pauses)

    def _pause(self, record: Record, at_least: timedelta | None) -> int:
        return pause_seconds(receives(record), self.jitter(), at_least)


def named_in(body: str) -> tuple[str | None, str | None]:
    """Return the callback and the id of the event in *body*; None for what it does not have."""
    try:
        detail = json.loads(body)
        found = detail["callback"], detail["eventId"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, None
    name, event_id = (each if isinstance(each, str) and each.isascii() else None for each in found)
    return name, event_id if event_id and event_id.isprintable() else None
