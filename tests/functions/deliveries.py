"""SQS events as Lambda hands them over, and the metrics that functions log."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:acks"


def delivery(*bodies: str, receives: int = 1, prefix: str = "message", queue: str = QUEUE) -> dict[str, Any]:
    """One event of messages ``message-0``, ``message-1``, ..., each received for the *receives*-th time."""
    return {
        "Records": [
            {
                "messageId": f"{prefix}-{number}",
                "body": body,
                "attributes": {"ApproximateReceiveCount": str(receives)},
                "messageAttributes": {},
                "receiptHandle": f"receipt-{number}",
                "eventSource": "aws:sqs",
                "eventSourceARN": queue,
            }
            for number, body in enumerate(bodies)
        ]
    }


def failed(response: dict[str, Any]) -> list[str]:
    """The ids of the messages that a partial batch response sends back."""
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def metrics_in(log: str) -> defaultdict[str, list[float]]:
    """The values of each metric in *log*; a metric that was not emitted has none."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for line in map(json.loads, log.splitlines()):
        for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
            found[metric["Name"]] += line[metric["Name"]]
    return found
