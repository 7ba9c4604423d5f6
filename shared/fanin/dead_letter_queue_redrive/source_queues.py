"""The queues that messages of a dead-letter queue came from, as SQS knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.aws.messaging.queue_urls import dead_letter_queue_arns
from fanin.dead_letter_queue_redrive.dead_letter_messages import DeadLetterMessage

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class Sources:
    """Finds the source queue of each message of the dead-letter queue at *url*; *to*: that of all."""

    def __init__(self, sqs: SQSClient, url: str, to: str | None) -> None:
        self._sqs, self._url, self._to = sqs, url, to
        self._urls: dict[str | None, str | None] = {}

    def of(self, message: DeadLetterMessage) -> str | None:
        """Return the URL of the source of *message*, or None if it is not known.

        It is the queue that SQS names on the message; else the only one whose dead-letter queue this is.
        """
        if self._to is not None:
            return self._to
        arn = message.source_arn
        if arn not in self._urls:
            self._urls[arn] = self._only_one() if arn is None else self._url_of(arn)
        return self._urls[arn]

    def _url_of(self, arn: str) -> str | None:
        *_, account, name = arn.split(":")
        asked = {"QueueName": name, "QueueOwnerAWSAccountId": account}
        answer = self._or_none(self._sqs.get_queue_url, asked)
        return answer["QueueUrl"] if answer else None

    def _only_one(self) -> str | None:
        answer = self._or_none(self._sqs.list_dead_letter_source_queues, {"QueueUrl": self._url})
        found = answer["queueUrls"] if answer else []
        return found[0] if len(found) == 1 else None

    def _or_none(self, operation: Any, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer; None where the queue is gone, or SQS refuses to say."""
        try:
            return send(operation, asked)
        except ClientError:
            return None


def has_sources(sqs: SQSClient, url: str) -> bool:
    """Return whether the queue at *url* is the dead-letter queue of another, or SQS refuses to say."""
    try:
        return bool(send(sqs.list_dead_letter_source_queues, {"QueueUrl": url})["queueUrls"])
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "InvalidAction":
            return True
    # The emulator of a local run has no such call.
    facts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return facts["Attributes"]["QueueArn"] in dead_letter_queue_arns(sqs)
