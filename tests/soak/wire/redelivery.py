"""Messages of a failed invocation come again soon: the deployed queues hide them for six of its timeouts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MARGIN_SECONDS = 2
HIDDEN = "VisibilityTimeout"


def timeouts(lambda_: Any) -> dict[str, int]:
    """Return the timeout in seconds of the function that each queue feeds, by the queue's name."""
    pages = lambda_.get_paginator("list_functions").paginate()
    functions = {each["FunctionArn"]: each["Timeout"] for page in pages for each in page["Functions"]}
    mappings = lambda_.get_paginator("list_event_source_mappings").paginate()
    fed = [each for page in mappings for each in page["EventSourceMappings"]]
    return {
        each["EventSourceArn"].rpartition(":")[2]: functions[each["FunctionArn"]]
        for each in fed
        if ":sqs:" in each["EventSourceArn"]
    }


@contextmanager
def soon(lambda_: Any, sqs: Any) -> Iterator[None]:
    """Hide the messages of a queue that feeds a function for little more than the function's timeout."""
    before = {}
    for name, seconds in timeouts(lambda_).items():
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[HIDDEN])["Attributes"]
        before[url] = attributes[HIDDEN]
        shorter = min(int(attributes[HIDDEN]), seconds + MARGIN_SECONDS)
        sqs.set_queue_attributes(QueueUrl=url, Attributes={HIDDEN: str(shorter)})
    try:
        yield
    finally:
        for url, hidden in before.items():
            sqs.set_queue_attributes(QueueUrl=url, Attributes={HIDDEN: hidden})
