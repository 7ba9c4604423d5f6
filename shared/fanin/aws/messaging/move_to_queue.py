"""Sends messages to another queue before they are deleted from their own.

Those that no consumer can process go to the dead-letter queue of their queue.

SQS moves a message after ``maxReceiveCount`` receives, and one whose invocation Lambda throttled counts too.
So that number is high, and a consumer that finds a message invalid sends it itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

logger = logging.getLogger("fanin")


def body_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of which only the body is sent."""
    return {"MessageBody": record["body"]}


@dataclass(frozen=True, slots=True)
class Isolation:
    """Sends messages to the queue at *url*. *message_of*: what is sent of a record.

    A message is sent before it is deleted from its own queue, so a crash between the two leaves a copy in
    both.
    """

    client: SQSClient
    url: str
    message_of: Callable[[Mapping[str, Any]], dict[str, Any]] = body_of

    def isolate(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Send each record, and return the ids of the messages that were sent.

        A message that SQS refuses is logged and left out; if SQS is unavailable, so are all after it.
        """
        sent: list[str] = []
        for record in records:
            try:
                send(self.client.send_message, {"QueueUrl": self.url, **self.message_of(record)})
            except ClientError as error:
                logger.warning("message %s was not sent to another queue: %s", record["messageId"], error)
                continue
            except StoreUnavailable as error:
                logger.warning(
                    "%d messages were not sent to another queue: %s", len(records) - len(sent), error
                )
                break
            sent.append(record["messageId"])
        return sent
