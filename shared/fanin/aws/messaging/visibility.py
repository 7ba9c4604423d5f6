"""Changes the visibility timeout of received SQS messages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MESSAGES_A_REQUEST = 10

logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Visibility:
    """Changes the visibility timeout of received messages; the URL of a queue is requested once."""

    client: SQSClient
    urls: dict[str, str] = field(default_factory=dict)

    def hide(self, queue_arn: str, pauses: Mapping[str, int]) -> None:
        """Hide messages of a queue for *pauses*: receipt handle -> seconds, at most 12 hours.

        A refused change is logged; its message is visible again after the visibility timeout of its queue.
        """
        try:
            refused = self._hide(queue_arn, list(pauses.items()))
        except (ClientError, StoreUnavailable) as error:
            logger.warning("the visibility timeout of messages of %s was not changed: %s", queue_arn, error)
            return
        if refused:
            logger.warning("the visibility timeout of %d messages of %s was not changed", refused, queue_arn)

    def _hide(self, queue_arn: str, pauses: list[tuple[str, int]]) -> int:
        """Hide the messages, ten in each request, and return the number that SQS refused."""
        url, refused = self._url(queue_arn), 0
        for first in range(0, len(pauses), MESSAGES_A_REQUEST):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                for number, (receipt, seconds) in enumerate(pauses[first : first + MESSAGES_A_REQUEST])
            ]
            answer = send(self.client.change_message_visibility_batch, {"QueueUrl": url, "Entries": entries})
            refused += len(answer.get("Failed", []))
        return refused

    def _url(self, queue_arn: str) -> str:
        if queue_arn not in self.urls:
            account, name = queue_arn.split(":")[4:6]
            answer = send(self.client.get_queue_url, {"QueueName": name, "QueueOwnerAWSAccountId": account})
            self.urls[queue_arn] = answer["QueueUrl"]
        return self.urls[queue_arn]
