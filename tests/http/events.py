"""What arrives on the bus: a rule copies every event of the source into a queue."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import Any, Self
from uuid import uuid4

from fanin.local import LocalRun
from fanin.names import EVENT_SOURCE

PATIENCE_SECONDS = 180
NAMES = ("batchId", "taskId", "jobId", "bundleId")
"""What an event is of: the first of these that its detail has."""


class Events:
    """The events that have arrived, by batch or task, in order."""

    def __init__(self, sqs: Any, queue_url: str) -> None:
        self.sqs = sqs
        self.queue_url = queue_url
        self.by_batch: dict[str, list[dict[str, Any]]] = defaultdict(list)

    @classmethod
    def on(cls, run: LocalRun) -> Self:
        """Those of a local run, from now on, in a queue of their own."""
        sqs, events, bus = run.client("sqs"), run.client("events"), run.outputs["BusName"]
        name = f"events-{uuid4().hex[:8]}"
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps({"source": [EVENT_SOURCE]}))
        events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
        return cls(sqs, url)

    def of(self, batch: str, count: int = 1) -> list[dict[str, Any]]:
        """The first *count* events of *batch*, waited for; fewer where they do not come in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.by_batch[batch]) < count and time.monotonic() < deadline:
            self._receive(wait=1)
        return self.by_batch[batch]

    def later(self, batch: str, seconds: float) -> list[dict[str, Any]]:
        """All events of *batch* that are there after so many seconds more."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._receive(wait=1)
        return self.by_batch[batch]

    def _receive(self, wait: int) -> None:
        answer = self.sqs.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=wait
        )
        for message in answer.get("Messages", []):
            event = json.loads(message["Body"])
            detail = event["detail"]
            of = next(detail[name] for name in NAMES if detail.get(name))
            self.by_batch[of].append({"kind": event["detail-type"], **detail})
            self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
