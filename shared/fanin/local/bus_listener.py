"""Copies what is put on the bus of a local run to its event log, by a rule of its own and a queue."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from fanin.local.emulator_process.connection import Connection
from fanin.local.event_log import Event, EventLog
from fanin.names import EVENT_SOURCE

NAME = "fanin-local-events"
POLL_SECONDS = 1
"""A long poll of the emulator, which answers at once when there is an event."""

log = logging.getLogger(__name__)


class BusListener(threading.Thread):
    """Writes the events of the bus *bus* to *event_log* until ``stop``."""

    def __init__(self, bus: str, aws: Connection, event_log: EventLog) -> None:
        super().__init__(name="fanin-local-events", daemon=True)
        self.event_log = event_log
        self.queues, self.events = aws.client("sqs"), aws.client("events")
        self.url = self._subscribed(bus)
        self.stopped = threading.Event()

    def stop(self) -> None:
        """Stop the thread and wait for it, 5 seconds at most."""
        self.stopped.set()
        self.join(timeout=5.0)

    def run(self) -> None:
        """Receive events until ``stop``."""
        while not self.stopped.is_set():
            try:
                self.receive()
            except (ClientError, BotoCoreError):
                if not self.stopped.wait(POLL_SECONDS):
                    log.debug("the events of the bus could not be received", exc_info=True)

    def receive(self) -> None:
        """Write the events that are there, or come within a poll; an error of the file loses lines alone."""
        answer = self.queues.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=POLL_SECONDS
        )
        messages = answer.get("Messages", [])
        with suppress(OSError):
            self.event_log.add(_lines(message["Body"] for message in messages))
        if messages:
            entries = [
                {"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(messages)
            ]
            self.queues.delete_message_batch(QueueUrl=self.url, Entries=entries)

    def _subscribed(self, bus: str) -> str:
        """Create the queue and the rule; return the URL of the queue."""
        url = str(self.queues.create_queue(QueueName=NAME)["QueueUrl"])
        found = self.queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        send_to_queue(self.events, bus, NAME, found["Attributes"]["QueueArn"])
        return url


def send_to_queue(events: Any, bus: str, rule: str, arn: str, types: Sequence[str] = ()) -> None:
    """Make a *rule* of *bus* send the events of fanin to the queue *arn*: all, or those of *types*."""
    pattern = {"source": [EVENT_SOURCE]} | ({"detail-type": list(types)} if types else {})
    events.put_rule(Name=rule, EventBusName=bus, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=rule, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])


def _lines(bodies: Iterable[str]) -> Iterator[Event]:
    """Yield the events of *bodies*; skip messages of other programs."""
    for body in bodies:
        with suppress(ValueError, KeyError, TypeError):
            yield _line(json.loads(body))


def _line(event: Mapping[str, Any]) -> Event:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"time": now, "detailType": event["detail-type"], "detail": event["detail"]}
