"""Registers tasks for packages of some sections; the section is the task's target."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from examples.catalog.functions.index import Entry

_TASKS = UUID("3d0f6f5e-7f43-5d55-9f57-0f8a5cf1a5c2")
ENTRIES = 10
"""Of one request to SQS."""


@dataclass(frozen=True, slots=True)
class Bundling:
    """Sends tasks for the packages of *sections*, each of which is a target, to the registrations queue."""

    sqs: Any
    queue_url: str
    sections: frozenset[str]

    def takes(self, entry: Entry) -> bool:
        """Return whether the end of a task acks the package's item, not the worker."""
        return entry.package.section in self.sections

    def hand_over(self, entries: Sequence[Entry]) -> list[bool]:
        """Send the packages' tasks; return for each if it was sent. Messages of others are retried."""
        sent = []
        for first in range(0, len(entries), ENTRIES):
            sent += self._send(entries[first : first + ENTRIES])
        return sent

    def _send(self, entries: Sequence[Entry]) -> list[bool]:
        messages = [
            {"Id": str(n), "MessageBody": json.dumps(task_of(entry)), "MessageGroupId": entry.package.section}
            for n, entry in enumerate(entries)
        ]
        answer = self.sqs.send_message_batch(QueueUrl=self.queue_url, Entries=messages)
        failed = {each["Id"] for each in answer.get("Failed", [])}
        return [message["Id"] not in failed for message in messages]


def task_of(entry: Entry) -> dict[str, Any]:
    """Return the task of a package, equal for every delivery of the same item."""
    return {
        "payload": {"package": entry.key, "size": entry.package.size},
        "target": entry.package.section,
        "taskId": str(uuid5(_TASKS, entry.item_id)),
        "itemId": entry.item_id,
    }
