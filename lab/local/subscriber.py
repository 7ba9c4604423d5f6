"""A queue on the bus of a local run, and when each event came into it."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from contextlib import suppress
from typing import Any, Self

from botocore.exceptions import BotoCoreError

from fanin.local import LocalRun

PATIENCE_SECONDS = 60.0
NAME = "benchmark-subscriber"


class Subscriber(threading.Thread):
    """Receives the completions of a bus. ``arrived``: when each copy came into the queue, by batch."""

    def __init__(self, run: LocalRun) -> None:
        super().__init__(daemon=True)
        self.sqs = run.client("sqs")
        self.url = self._subscribed(run.client("events"), run.outputs["BusName"])
        self.arrived: dict[str, list[float]] = defaultdict(list)
        self.changed = threading.Condition()
        self.over = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        self.join()

    def run(self) -> None:
        """Receive until the block ends."""
        while not self.over:
            with suppress(BotoCoreError):
                self._receive()

    def first(self, batch: str) -> None:
        """Wait for the first event of *batch*. Raises TimeoutError after a minute."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.arrived[batch], PATIENCE_SECONDS):
                raise TimeoutError(f"no event of batch {batch} after {PATIENCE_SECONDS:.0f} s")

    def _receive(self) -> None:
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["SentTimestamp"]
        )
        for message in answer.get("Messages", []):
            batch = json.loads(message["Body"])["detail"]["batchId"]
            with self.changed:
                # The emulator looks into a queue ten times a second; this is when the event came.
                self.arrived[batch].append(int(message["Attributes"]["SentTimestamp"]) / 1000)
                self.changed.notify_all()
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def _subscribed(self, events: Any, bus: str) -> str:
        """Create the queue and the rule; return the URL of the queue."""
        url = str(self.sqs.create_queue(QueueName=NAME)["QueueUrl"])
        asked = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        pattern = json.dumps({"source": ["fanin"], "detail-type": ["BatchCompleted"]})
        events.put_rule(Name=NAME, EventBusName=bus, EventPattern=pattern)
        target = {"Id": "queue", "Arn": asked["Attributes"]["QueueArn"]}
        events.put_targets(Rule=NAME, EventBusName=bus, Targets=[target])
        return url
