"""The SQS queue that ``fanin local work`` takes from, with its dead-letter queue; created where absent."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fanin.local.emulation.connection import REGION

FIFO = ".fifo"
VISIBILITY_SECONDS = 30
RECEIVES = 3
KEPT_SECONDS = 14 * 24 * 3600
"""How long dead-letter messages are kept: the most that SQS allows."""
WAIT_SECONDS = 1
"""A long poll, between which the files of the app are looked at."""
RECEIVED_MAX = 10
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkSource:
    """A queue: its *url* and *arn*, and its visibility timeout in seconds. *dead*: its dead-letter queue."""

    sqs: Any
    url: str
    arn: str
    visibility: int
    dead: str | None

    def receive(self, most: int) -> list[Message]:
        """Return up to *most* messages, after a second at the latest."""
        found: list[Message] = []
        while len(found) < most:
            asked = min(most - len(found), RECEIVED_MAX)
            part = self._received(asked, 0 if found else WAIT_SECONDS)
            found += part
            if len(part) < asked:
                break
        return found

    def _received(self, most: int, wait: int) -> list[Message]:
        answer = self.sqs.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return list(answer.get("Messages", []))

    def delete(self, messages: Iterable[Message]) -> None:
        """Delete *messages*; one that is not deleted is delivered again."""
        for part in _parts(messages):
            self.sqs.delete_message_batch(QueueUrl=self.url, Entries=part)

    def release(self, messages: Iterable[Message]) -> None:
        """Make *messages* visible again at once."""
        for part in _parts(messages):
            entries = [{**entry, "VisibilityTimeout": 0} for entry in part]
            self.sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)

    def record(self, message: Message) -> dict[str, Any]:
        """Return *message* as Lambda passes it in an event."""
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": _attributes(message.get("MessageAttributes", {})),
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self.arn,
            "awsRegion": REGION,
        }


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
    return WorkSource(
        sqs, url, facts["QueueArn"], int(facts["VisibilityTimeout"]), dead and dead.rpartition(":")[2]
    )


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


def _parts(messages: Iterable[Message]) -> Iterable[list[dict[str, Any]]]:
    """Yield the entries of requests about *messages*, ten in each."""
    entries = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(messages)]
    for first in range(0, len(entries), RECEIVED_MAX):
        yield entries[first : first + RECEIVED_MAX]


def _attributes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return message attributes in the form of a Lambda event, which has bytes in base64."""
    return {name: _attribute(value) for name, value in given.items()}


def _attribute(given: Mapping[str, Any]) -> dict[str, Any]:
    value = {"dataType": given["DataType"], "stringListValues": [], "binaryListValues": []}
    if "BinaryValue" in given:
        return {**value, "binaryValue": base64.b64encode(given["BinaryValue"]).decode()}
    return {**value, "stringValue": given["StringValue"]}
