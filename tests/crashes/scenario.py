"""A scenario: an event for one handler, what was stored before, and what must hold after it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

from tests.api.gateway import Gateway, answered
from tests.crashes.account import Account
from tests.crashes.naming import module_of

LEFT_MS = 900_000
NO_TIME = timedelta(0)


@dataclass
class Context:
    """The context of an invocation; the test sets how much time is left."""

    left_ms: int = LEFT_MS
    aws_request_id: str = "request"
    function_name: str = "function"

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


class Delivery(Protocol):
    """An event as its source delivers it."""

    def invoke(self, handler: str, context: Context) -> tuple[Any, Delivery | None]:
        """Invoke the handler; return its answer, and what the source delivers again."""


@dataclass(frozen=True)
class Request:
    """A request over HTTP, which its client repeats with the same idempotency key."""

    method: str
    path: str
    body: Any = None
    key: str | None = "key"
    query: Mapping[str, str] | None = None

    def invoke(self, handler: str, context: Context) -> tuple[Any, Delivery | None]:
        headers = {"content-type": "application/json"}
        if self.key and self.method == "POST":
            headers["idempotency-key"] = self.key
        event = Gateway().event(self.method, self.path, headers, dict(self.query or {}) or None)
        text = None if self.body is None else json.dumps(self.body)
        event = {**event, "body": text, "isBase64Encoded": False}
        answer = answered(self.method, self.path, event, context)
        status = answer["statusCode"]
        remaining = self if status in (429, 500, 503) else None
        return (status, json.loads(answer["body"])), remaining


@dataclass(frozen=True)
class Messages:
    """A delivery of an SQS queue; messages that the handler returns come again, received once more."""

    bodies: tuple[str, ...]
    queue: str = "arn:aws:sqs:us-east-1:123456789012:acks"
    receives: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def invoke(self, handler: str, context: Context) -> tuple[Any, Delivery | None]:
        records = [self._record(number, body) for number, body in enumerate(self.bodies)]
        answer = _handler(handler)({"Records": records}, context)
        failed = {each["itemIdentifier"] for each in (answer or {}).get("batchItemFailures", [])}
        remaining = tuple(record["body"] for record in records if record["messageId"] in failed)
        again = replace(self, bodies=remaining, receives=self.receives + 1) if remaining else None
        return None, again

    def _record(self, number: int, body: str) -> dict[str, Any]:
        return {
            "messageId": f"message-{number}",
            "body": body,
            "attributes": {"ApproximateReceiveCount": str(self.receives), "SentTimestamp": "1772366400000"},
            "messageAttributes": dict(self.attributes),
            "receiptHandle": f"receipt-{number}",
            "eventSource": "aws:sqs",
            "eventSourceARN": self.queue,
        }


@dataclass(frozen=True)
class Event:
    """An event that its source delivers whole, and again if the invocation ends with an error."""

    event: Any

    def invoke(self, handler: str, context: Context) -> tuple[Any, Delivery | None]:
        answer = _handler(handler)(self.event, context)
        failed = isinstance(answer, dict) and answer.get("batchItemFailures")
        return answer, self if failed else None


def _handler(name: str) -> Callable[[Any, Any], Any]:
    found: Callable[[Any, Any], Any] = importlib.import_module(module_of(name)).handler
    return found


@dataclass(frozen=True)
class Duty:
    """What runs after the event: *handler*, once *after* has passed.

    *delivery* returns what it is invoked with, None where there is nothing to deliver.
    """

    handler: str
    after: timedelta = NO_TIME
    delivery: Callable[[Account], Delivery | None] = lambda _: Event({})


@dataclass(frozen=True)
class Scenario:
    """*prepare* fills the account, and returns the event of *handler*.

    ``duties``: what heals a crash by the handler's contract; the undisturbed run has them too. ``fresh``:
    attributes of rows that differ by design: times, owners and counts of attempts. ``apart``: tables whose
    rows are another division of the same work. ``free_answer``: the answer may differ: it says what this
    invocation itself did. ``returns``: the undisturbed handler returns messages, too.
    """

    handler: str
    name: str
    prepare: Callable[[Account], Delivery]
    duties: tuple[Duty, ...] = ()
    fresh: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    free_answer: bool = False
    returns: bool = False

    @property
    def id(self) -> str:
        return f"{self.handler}: {self.name}"
