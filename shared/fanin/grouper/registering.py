"""Registers a task: one conditional write, then a message delayed by the target's linger."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from fanin.errors import InvalidRequest, KeyReused
from fanin.grouper import rules
from fanin.grouper.ids import checked_target, checked_task_id, slot_of
from fanin.grouper.messages import Posting, TaskMessage
from fanin.grouper.model import NewTask, Task, TaskState
from fanin.grouper.world import World

PAYLOAD_BYTES = 32_768
PRIORITY_MAX = 999
ITEM_ID_MAX = 256


@dataclass(frozen=True, slots=True)
class Registrar:
    """Registers tasks. *target_of* computes the target of a task that has none."""

    world: World
    target_of: Callable[[NewTask], str] | None = None

    def register(self, tenant: str, new_task: NewTask) -> Task:
        """Register a task and return it as stored; a task of the same id is registered once.

        Raises InvalidRequest if a field is out of bounds, KeyReused if the id was used for another request,
        and StoreUnavailable if the task may not be processed: register it again.
        """
        wanted = self._task(tenant, new_task)
        stored = self.world.store.create(wanted)
        if not stored.asks_for_the_same(wanted):
            raise KeyReused(
                "this taskId was used for a task with another target, payload, priority or itemId"
            )
        if stored.state is TaskState.CREATED:
            linger = self.world.policies.of(stored.target).linger
            self.world.queue.send([Posting(TaskMessage(stored.key), rules.seconds(linger))])
        return stored

    def _task(self, tenant: str, new_task: NewTask) -> Task:
        at = self.world.now()
        task_id = checked_task_id(new_task.task_id or self.world.new_id())
        target = self._target(new_task)
        shards = self.world.policies.of(target).shards
        return Task(
            tenant=tenant,
            task_id=task_id,
            target=target,
            shard=str(slot_of(task_id, shards)),
            state=TaskState.CREATED,
            payload=payload_text(new_task.payload),
            priority=_checked_priority(new_task.priority),
            item_id=_checked_item_id(new_task.item_id),
            attempts=0,
            created_at=at,
            due_at=at,
            expires_at=at + self.world.timing.pending,
        )

    def _target(self, new_task: NewTask) -> str:
        if new_task.target is not None:
            return checked_target(new_task.target)
        if self.target_of is None:
            raise InvalidRequest("target is required: no function computes it here", field="target")
        return checked_target(self.target_of(new_task))


def payload_text(payload: object) -> str:
    """Return the payload as canonical JSON; raise InvalidRequest if it is none or longer than 32 KiB."""
    try:
        text = json.dumps(payload, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("payload must be a JSON value", field="payload") from error
    if len(text) > PAYLOAD_BYTES:
        raise InvalidRequest(f"payload must have at most {PAYLOAD_BYTES} bytes as JSON", field="payload")
    return text


def _checked_priority(priority: int) -> int:
    if type(priority) is not int or not 0 <= priority <= PRIORITY_MAX:
        raise InvalidRequest(f"priority must be a whole number from 0 to {PRIORITY_MAX}", field="priority")
    return priority


def _checked_item_id(item_id: str | None) -> str | None:
    if item_id is not None and not 0 < len(item_id) <= ITEM_ID_MAX:
        raise InvalidRequest(f"itemId must have 1 to {ITEM_ID_MAX} characters", field="itemId")
    return item_id
