"""The SQS queue that ``fanin local work`` takes from, with its dead-letter queue; created where absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.aws.messaging.receiving import ReceivedQueue

FIFO = ".fifo"
VISIBILITY_SECONDS = 30
RECEIVES = 3
KEPT_SECONDS = 14 * 24 * 3600
"""How long dead-letter messages are kept: the most that SQS allows."""


@dataclass(frozen=True, slots=True)
class WorkSource(ReceivedQueue):
    """A queue, and the name of its dead-letter queue."""

    dead: str | None = None


def source_of(sqs: Any, name: str, visibility: int | None = None, receives: int | None = None) -> WorkSource:
    """Return the queue *name*, which is created with a dead-letter queue if it does not exist.

    *visibility*, *receives*: its visibility timeout and ``maxReceiveCount``; None: as they are, or 30 and 3.
    """
    existing = _url_of(sqs, name)
    url = existing or _created(sqs, name, VisibilityTimeout=VISIBILITY_SECONDS)
    wanted = {} if visibility is None else {"VisibilityTimeout": str(visibility)}
    if existing is None or receives is not None:
        wanted["RedrivePolicy"] = json.dumps(_policy(sqs, url, name, receives or RECEIVES))
    if wanted:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=wanted)
    facts = _facts(sqs, url)
    dead = _dead_of(facts)
    dead_name = dead and dead.rpartition(":")[2]
    return WorkSource(sqs, url, facts["QueueArn"], int(facts["VisibilityTimeout"]), dead_name)


def dead_letter_queue_name(name: str) -> str:
    """Return the name of the dead-letter queue that belongs to the queue *name*."""
    stem = name.removesuffix(FIFO)
    return f"{stem}-dead-letter-queue{name[len(stem) :]}"


def _policy(sqs: Any, url: str, name: str, receives: int) -> dict[str, Any]:
    """Return the redrive policy, to the dead-letter queue that the queue has, or to a new one."""
    dead = _dead_of(_facts(sqs, url))
    if dead is None:
        created = _created(sqs, dead_letter_queue_name(name), MessageRetentionPeriod=KEPT_SECONDS)
        dead = _facts(sqs, created)["QueueArn"]
    return {"deadLetterTargetArn": dead, "maxReceiveCount": receives}


def _dead_of(facts: Mapping[str, str]) -> str | None:
    """Return the ARN of the dead-letter queue in the attributes of a queue."""
    policy = json.loads(facts.get("RedrivePolicy") or "{}")
    arn: str | None = policy.get("deadLetterTargetArn")
    return arn


def _facts(sqs: Any, url: str) -> dict[str, str]:
    facts: dict[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return facts


def _url_of(sqs: Any, name: str) -> str | None:
    try:
        url: str = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        return None
    return url


def _created(sqs: Any, name: str, **attributes: int) -> str:
    """Return the URL of the queue *name*, which is created with *attributes* if it does not exist."""
    url = _url_of(sqs, name)
    if url is not None:
        return url
    given = {key: str(value) for key, value in attributes.items()}
    if name.endswith(FIFO):
        given |= {"FifoQueue": "true"}
    created: str = sqs.create_queue(QueueName=name, Attributes=given)["QueueUrl"]
    return created
