"""Sends messages that no consumer can process to the dead-letter queue of their queue.

SQS moves a message after ``maxReceiveCount`` receives, and one whose invocation Lambda throttled counts too.
So that number is high, and a consumer that finds a message invalid sends it itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Isolation:
    """Sends messages to the dead-letter queue at *url*.

    A message is sent before it is deleted from its own queue, so a crash between the two leaves a copy in
    both.
    """

    client: SQSClient
    url: str

    def isolate(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Send the body of each record, and return the ids of the messages that were sent.

        A message that SQS refuses is logged and left out; if SQS is unavailable, so are all after it.
        """
        sent: list[str] = []
        for record in records:
            try:
                send(self.client.send_message, {"QueueUrl": self.url, "MessageBody": record["body"]})
            except ClientError as error:
                logger.warning("message %s was not isolated: %s", record["messageId"], error)
                continue
            except StoreUnavailable as error:
                logger.warning("%d messages were not isolated: %s", len(records) - len(sent), error)
                break
            sent.append(record["messageId"])
        return sent
