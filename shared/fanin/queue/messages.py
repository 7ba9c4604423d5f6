"""A ring as an SQS message says it, and the rings that a function is handed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fanin.errors import InvalidRequest
from fanin.queue.keys import QueueKey
from fanin.queue.model import Ring


def body(queue: QueueKey, ring: Ring) -> str:
    """The message of a ring."""
    return json.dumps({"tenant": queue.tenant, "queue": queue.name, "part": ring.part, "due": ring.due})


def ring_of(queue: QueueKey, text: str, receipt: str) -> Ring:
    """The ring that a message stands for; InvalidRequest for what no doorbell of this queue sent."""
    try:
        told = json.loads(text)
        key, ring = (told["tenant"], told["queue"]), Ring(int(told["part"]), bool(told["due"]), receipt)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidRequest("this message is no ring of a doorbell") from error
    if key != (queue.tenant, queue.name):
        raise InvalidRequest("a ring for another queue came through this doorbell")
    return ring


def rings_of(queue: QueueKey, event: Mapping[str, Any]) -> list[Ring]:
    """The rings in an event of Lambda, whose source is this queue's own doorbell; InvalidRequest where one
    of them is for another queue, or is none: that message would be lost here.
    """
    return [ring_of(queue, record["body"], record["receiptHandle"]) for record in event["Records"]]
