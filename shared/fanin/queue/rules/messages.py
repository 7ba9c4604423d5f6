"""Rings as SQS messages, and the rings in an event of a Lambda function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fanin.errors import InvalidRequest
from fanin.isolating import records_of
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Ring


def body(queue: QueueKey, ring: Ring) -> str:
    """Return the body of the message that carries *ring*."""
    return json.dumps({"tenant": queue.tenant, "queue": queue.name, "part": ring.part, "due": ring.due})


def ring_of(queue: QueueKey, text: str, receipt: str) -> Ring:
    """Parse a message, or raise InvalidRequest where it is not a ring of *queue*."""
    try:
        fields = json.loads(text)
        key = fields["tenant"], fields["queue"]
        ring = Ring(int(fields["part"]), bool(fields["due"]), receipt)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidRequest("the message body is not a ring of a doorbell") from error
    if key != (queue.tenant, queue.name):
        raise InvalidRequest("a ring for another queue came through this doorbell")
    return ring


def rings_of(queue: QueueKey, event: Mapping[str, Any]) -> list[Ring]:
    """Return the rings of a Lambda event whose source is the doorbell of *queue*.

    Raises InvalidRequest where a message is not a ring of *queue*; to skip it would delete it.
    """
    return [ring_of(queue, record["body"], record.get("receiptHandle", "")) for record in records_of(event)]


def seconds_left(context: Any) -> float:
    """Return the seconds that an invocation has left, by its *context*."""
    try:
        return float(context.get_remaining_time_in_millis()) / 1000
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidRequest(
            "context is that of a Lambda invocation, the second argument of its handler", field="context"
        ) from error
