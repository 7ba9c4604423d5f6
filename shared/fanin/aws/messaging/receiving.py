"""An SQS queue as a consumer sees it: it receives messages, hides them for longer, and deletes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, ParamValidationError

from fanin.aws import clients
from fanin.aws.calls import send
from fanin.aws.messaging.queue_urls import queue_url
from fanin.errors import InvalidRequest, NotFound, StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ABSENT = ("QueueDoesNotExist", "NonExistentQueue", "InvalidAddress")
THROTTLED = ("OverLimit", "RequestThrottled", "KmsThrottled")
"""Codes of SQS: too many messages in flight or requests a second, also with the names of its older API."""
WAYS = "give the URL of a queue, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, in the region of this process"


@dataclass(frozen=True, slots=True)
class ReceivedQueue:
    """A queue by its *url*. *visibility*: its own visibility timeout in seconds."""

    client: SQSClient
    url: str
    arn: str
    visibility: int

    @property
    def name(self) -> str:
        return self.arn.rpartition(":")[2]

    def receive(self, most: int, wait: int, visibility: int | None = None) -> list[dict[str, Any]]:
        """Return up to *most* messages, as Lambda passes them, hidden for *visibility* seconds."""
        request: dict[str, Any] = {"QueueUrl": self.url, "MaxNumberOfMessages": most, "WaitTimeSeconds": wait}
        request |= {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
        request |= {} if visibility is None else {"VisibilityTimeout": visibility}
        answer = _sent(self.client.receive_message, request)
        return [record_of(each, self.arn) for each in answer.get("Messages", ())]

    def delete(self, receipts: Sequence[str]) -> set[str]:
        """Delete up to ten messages; return the receipt handles that SQS refused."""
        return self._refused(self.client.delete_message_batch, receipts)

    def hide(self, receipts: Sequence[str], seconds: int) -> set[str]:
        """Hide up to ten messages for *seconds* from now; return the receipt handles that SQS refused."""
        return self._refused(self.client.change_message_visibility_batch, receipts, VisibilityTimeout=seconds)

    def _refused(self, call: Callable[..., Any], receipts: Sequence[str], **facts: int) -> set[str]:
        entries = [{"Id": str(at), "ReceiptHandle": each, **facts} for at, each in enumerate(receipts)]
        answer = _sent(call, {"QueueUrl": self.url, "Entries": entries})
        return {receipts[int(each["Id"])] for each in answer.get("Failed", ())}


def _sent(call: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """Send a request to SQS. Raises StoreUnavailable also for what SQS throttles under codes of its own."""
    try:
        return send(call, request)
    except ClientError as error:
        if not error.response["Error"]["Code"].endswith(THROTTLED):
            raise
        raise StoreUnavailable(f"SQS is throttled; retry: {error}") from error


def queue_of(queue: str, client: SQSClient | None = None) -> ReceivedQueue:
    """Return a queue by its URL or name, which is asked for its ARN. Raises InvalidRequest and NotFound."""
    client = client or clients.long_polls()
    url = queue_url(client, queue)
    request = {"QueueUrl": url, "AttributeNames": ["QueueArn", "VisibilityTimeout"]}
    try:
        facts = send(client.get_queue_attributes, request)["Attributes"]
    except ParamValidationError as error:
        raise InvalidRequest(f"the queue is {url!r}: {error}; {WAYS}", field="queue") from None
    except ClientError as error:
        if not error.response["Error"]["Code"].endswith(ABSENT):
            raise
        raise NotFound(f"there is no queue {url}: {WAYS}") from None
    return ReceivedQueue(client, url, facts["QueueArn"], int(facts["VisibilityTimeout"]))


def record_of(message: Mapping[str, Any], arn: str) -> dict[str, Any]:
    """Return a received *message* as Lambda passes it in an event. *arn*: of its queue."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": _attributes(message.get("MessageAttributes", {})),
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": arn.split(":")[3],
    }


def _attributes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return message attributes in the form of a Lambda event, which has bytes in base64."""
    return {name: _attribute(value) for name, value in given.items()}


def _attribute(given: Mapping[str, Any]) -> dict[str, Any]:
    value = {"dataType": given["DataType"], "stringListValues": [], "binaryListValues": []}
    if "BinaryValue" in given:
        return {**value, "binaryValue": base64.b64encode(given["BinaryValue"]).decode()}
    return {**value, "stringValue": given["StringValue"]}
