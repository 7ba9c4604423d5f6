"""The URL of an SQS queue, which users give by its URL or by its name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fanin.arguments import text
from fanin.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

NAME = re.compile(r"[A-Za-z0-9_-]{1,80}(\.fifo)?")
URL = re.compile(r"https?://[^/]+/.+")


def dead_letter_queue_arns(sqs: SQSClient) -> frozenset[str]:
    """Return the ARNs of the dead-letter queues of all queues, by a request for each queue."""
    pages = sqs.get_paginator("list_queues").paginate()
    urls = [url for page in pages for url in page.get("QueueUrls", ())]
    facts = (sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"]) for url in urls)
    policies = (each.get("Attributes", {}).get("RedrivePolicy") for each in facts)
    return frozenset(json.loads(policy)["deadLetterTargetArn"] for policy in policies if policy)


def queue_url(sqs: SQSClient, queue: str) -> str:
    """Return the URL of *queue*, which is one, or the name of a queue. Raises NotFound, InvalidRequest."""
    if URL.fullmatch(checked_queue(queue)):
        return queue
    from fanin.aws.calls import send  # noqa: PLC0415  # the command line imports this, and seldom calls it

    try:
        url: str = send(sqs.get_queue_url, {"QueueName": queue})["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        raise NotFound(f"there is no queue {queue!r} at {sqs.meta.endpoint_url}; check its name") from None
    return url


def checked_queue(queue: str) -> str:
    """Return *queue*, in the form of a URL or of a name. Raises InvalidRequest."""
    if not URL.fullmatch(text(queue, "a queue", "queue")) and not NAME.fullmatch(queue):
        why = "a name has 1 to 80 letters, digits, - and _, and a URL is https://host/account/name"
        raise InvalidRequest(f"{queue!r} is neither the name nor the URL of a queue: {why}", field="queue")
    return queue
