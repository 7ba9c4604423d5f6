"""Publishes failed tasks to an event bus: source ``fanin``, detail type ``TaskFailed``, one event a task."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable
from fanin.grouper.model import Task
from fanin.grouper.notifying import event_id
from fanin.names import EVENT_SOURCE, TASK_FAILED

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

EVENTS_A_REQUEST = 10
SEND_ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class EventBus:
    """Publishes to the bus *name*. An event may be delivered twice, with the same ``eventId``."""

    client: EventBridgeClient
    name: str
    pause: Callable[[float], None] = time.sleep

    def publish(self, tasks: Sequence[Task]) -> None:
        """Publish an event for each of the failed *tasks*; raise StoreUnavailable if one may be missing."""
        entries = [self._entry(task) for task in tasks]
        for first in range(0, len(entries), EVENTS_A_REQUEST):
            self._send(entries[first : first + EVENTS_A_REQUEST])

    def _send(self, entries: list[dict[str, Any]]) -> None:
        """Send at most ten entries, and those again that a successful response names as failed."""
        for attempt in range(SEND_ATTEMPTS):
            answer = send(self.client.put_events, {"Entries": entries})
            pairs = zip(entries, answer["Entries"], strict=True)
            entries = [entry for entry, result in pairs if "ErrorCode" in result]
            if not entries:
                return
            self.pause(FIRST_PAUSE_SECONDS * 2**attempt)
        raise StoreUnavailable("the event bus did not accept every event; retry later")

    def _entry(self, task: Task) -> dict[str, Any]:
        said = json.dumps(detail(task))
        return {"EventBusName": self.name, "Source": EVENT_SOURCE, "DetailType": TASK_FAILED, "Detail": said}


def detail(task: Task) -> dict[str, Any]:
    """Return the event's detail of a task that FAILED, or is DEAD after too many attempts."""
    return {
        "eventId": event_id(task),
        "tenant": task.tenant,
        "taskId": task.task_id,
        "target": task.target,
        "state": task.state,
        "reason": task.detail,
        "attempts": task.attempts,
        "bundleId": task.bundle_id,
        "itemId": task.item_id,
    }
