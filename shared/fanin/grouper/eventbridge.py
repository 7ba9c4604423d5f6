"""Publishes tasks that ended and bundles that failed to an event bus, one event each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.messaging.bus import Bus, Event
from fanin.grouper.rules.model import Bundle, Task, TaskState, Verdict
from fanin.names import BUNDLE_FAILED, TASK_FAILED, TASK_SUCCEEDED

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


@dataclass(frozen=True, slots=True)
class EventBus:
    """Publishes to the bus *name*. An event may be delivered twice, with the same ``eventId``."""

    client: EventBridgeClient
    name: str
    pause: Callable[[float], None] = time.sleep

    def publish(self, tasks: Sequence[Task]) -> None:
        """Publish an event for each of the ended *tasks*; raise StoreUnavailable if one may be missing."""
        self._put([Event(_type_of(task), detail(task)) for task in tasks])

    def publish_bundle(self, bundle: Bundle) -> None:
        """Publish the event of a *bundle* that FAILED; raise StoreUnavailable if it may be missing."""
        self._put([Event(BUNDLE_FAILED, bundle_detail(bundle))])

    def _put(self, events: Sequence[Event]) -> None:
        Bus(self.client, self.name, self.pause).put(events)


def _type_of(task: Task) -> str:
    return TASK_SUCCEEDED if task.state is TaskState.SUCCEEDED else TASK_FAILED


def detail(task: Task) -> dict[str, Any]:
    """Return the event's detail of a task that SUCCEEDED, FAILED, or is DEAD after too many attempts.

    Its ``eventId`` has the bundle in which the task ended, because the id of a task is free again once the
    task has expired.
    """
    return {
        "eventId": f"{task.task_id}:{task.bundle_id}:{task.state}",
        "tenant": task.tenant,
        "taskId": task.task_id,
        "target": task.target,
        "state": task.state,
        "reason": task.detail,
        "attempts": task.attempts,
        "bundleId": task.bundle_id,
        "itemId": task.item_id,
    }


def bundle_detail(bundle: Bundle) -> dict[str, Any]:
    """Return the event's detail of a bundle that is FAILED.

    *failed* of its *tasks* have failed; *divided*: the others, each of which is bundled again in a part.
    """
    verdicts = Counter(outcome.verdict for outcome in bundle.outcomes)
    return {
        "eventId": f"{bundle.bundle_id}:{bundle.state}",
        "tenant": bundle.tenant,
        "bundleId": bundle.bundle_id,
        "target": bundle.lane.target,
        "reason": bundle.outcomes[0].detail,
        "attempts": bundle.attempt,
        "tasks": len(bundle.members),
        "failed": verdicts[Verdict.FAIL] + verdicts[Verdict.EXHAUSTED],
        "divided": verdicts[Verdict.APART],
    }
