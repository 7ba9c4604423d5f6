"""The messages that a program sends in a test, for the handlers of their queues."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from fanin.testing.delivering import ACCOUNT, REGION


class SentMessages:
    """Takes messages as the SQS client of ``fanin.send`` does, and returns their bodies by queue."""

    def __init__(self) -> None:
        self._bodies: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def __getitem__(self, queue: str) -> tuple[str, ...]:
        """Return the bodies that were sent to a queue, by its name; no bodies if there are none."""
        return tuple(self._bodies.get(queue, ()))

    def get_queue_url(self, *, QueueName: str) -> dict[str, str]:  # noqa: N803  # the names of SQS
        return {"QueueUrl": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{QueueName}"}

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
        name = QueueUrl.rpartition("/")[2]
        with self._lock:
            self._bodies.setdefault(name, []).extend(entry["MessageBody"] for entry in Entries)
        return {}
